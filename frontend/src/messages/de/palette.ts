import type en from "../en/palette";

const texts: typeof en = {
  label: "Läufe, Seiten und Aktionen suchen",
  placeholder: "Ein Lauf, eine Seite, eine Einstellung, eine Aktion …",
  results: "Gefunden",
  none: "Nichts gefunden.",
  kinds: {
    run: "Lauf",
    screen: "Seite",
    setting: "Einstellung",
    project: "Projekt",
    action: "Aktion",
  },
  allProjects: "Alle Projekte",
  searchAll: (line) => `Alle Läufe nach „${line}“ durchsuchen`,
  costliest: "Teuerste Läufe",
  importRecording: "Aufzeichnung importieren",
  theme: "Zwischen hell und dunkel wechseln",
  keys: "Tastenkürzel zeigen",
  failed: "Läufe konnten nicht durchsucht werden.",
};
export default texts;

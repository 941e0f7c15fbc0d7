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
  settings: {
    project: [
      "Neue Läufe beginnen mit",
      "Agenten dürfen wählen",
      "Längste Pause",
      "Wenn Mission Control ausfällt",
      "Budgets",
      "Täglicher Kostenbericht",
      "Wortlaut aufbewahren",
      "Mehr schwärzen",
      "Zeitzone",
    ],
    members: ["Einladungen", "Eigener Name"],
    projects: ["Eigene Projekte"],
    keys: ["Agentenschlüssel", "Persönliche Tokens"],
    instance: ["Zustand", "Speicherort", "Netzwerk", "Tagesbudget aller Projekte", "Grenzen"],
    channels: ["Wenn eine Karte aufgeht"],
    account: ["Passkeys", "Angemeldete Browser", "Andere Sitzungen"],
    devices: ["Telefon koppeln", "Benachrichtigungen auf diesem Gerät", "Geräte"],
  },
  failed: "Läufe konnten nicht durchsucht werden.",
};
export default texts;

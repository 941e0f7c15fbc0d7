import type en from "../en/sharing";

const texts: typeof en = {
  about:
    "Wer den Link hat, sieht Namen, Status, Zahlen und Verlauf, und sonst nichts: keine Schritte, nichts zum Tippen. Suchmaschinen führen ihn nicht.",
  life: "Gilt",
  days: (n) => (n === 1 ? "1 Tag" : `${String(n)} Tage`),
  make: "Link erstellen",
  making: "Wird erstellt…",
  link: "Link",
  once: "Jetzt kopieren: er wird nicht noch einmal gezeigt.",
  local:
    "Nur dieser Rechner erreicht diese Adresse. Für andere braucht es eine öffentliche Adresse.",
  picture: "Bild (PNG)",
  live: "Aktive Links",
  until: (who, day) => `von ${who}, gilt bis ${day}`,
  revoke: "Zurückziehen",
  revokeOf: (about) => `Den Link zurückziehen: ${about}`,
  revoked: "Link zurückgezogen.",
  close: "Schließen",
  failed: "Der Link konnte nicht erstellt werden.",
  notRevoked: "Der Link konnte nicht zurückgezogen werden.",
  allHint:
    "Wer einen dieser Links hat, sieht ohne Anmeldung, was er nennt. Teilen, auf einem Lauf, einer Karte oder den Kosten einer Woche, erstellt einen.",
  none: "Kein Link ist aktiv.",
  more: "Mehr",
  things: {
    run: (name) => `Lauf ${name}`,
    decision: (name) => `Karte von ${name}`,
    costs: (day) => `Kosten der Woche vom ${day}`,
  },
  notLoaded: "Die aktiven Links konnten nicht geladen werden.",
};
export default texts;

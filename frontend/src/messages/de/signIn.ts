import type en from "../en/signIn";
import { strong } from "../strong";

const texts: typeof en = {
  link: (command) => `Bitte den Anmelde-Link öffnen, den ${strong(command)} ausgegeben hat.`,
  again: "Er gilt einmal, zehn Minuten lang. Ein neuer, auf dem Rechner von Mission Control:",
  code: "Auf einem anderen Gerät angemeldet? Dort zeigt Einstellungen, Geräte einen Code.",
  ways: "Andere Wege der Anmeldung",
  type: "Code eingeben",
};
export default texts;

import type en from "../en/now";
import { counted } from "../plural";

const texts: typeof en = {
  title: "Jetzt",
  needsYou: "Braucht eine Antwort",
  queued: (n) => (n > 1 ? `${String(n)} · Angehaltene zuerst, älteste zuerst` : "1 Karte"),
  toMove: "wählen,",
  toOpen: "öffnen",
  running: "Läuft",
  fastest: "teuerste pro Stunde zuerst",
  orderHeld: "Reihenfolge steht, solange die Maus hier ist",
  redlining: (n) => `${String(n)} über dem Üblichen zuerst, dann teuerste pro Stunde`,
  held: (n) => `angehalten ${String(n)}`,
  lost: (n) => `Kontakt verloren ${String(n)}`,
  endedToday: (n) => `heute beendet ${String(n)}`,
  saved: (usd) => `durch Stopps gespart ≈ ${usd}`,
  savedUnknown: (stops) =>
    `heute ${counted(stops, { one: "Stopp", other: "Stopps" })}, noch keine Schätzung`,
  savedHow: "Wie das geschätzt wird",
  runs: "Läuft gerade",
  run: "Lauf",
  doingNow: "Tut gerade",
  lastTurns: "Letzte 44 Schritte",
  turns: "Schritte",
  tokens: "Tokens",
  cost: "Kosten",
  perHour: "$ pro Stunde ↓",
  budget: "Budget",
  noBudget: "keins",
  noTurn: "noch kein Schritt",
  aHour: "/h",
  timesUsual: (times) => `${times}× üblich`,
  usualIs: (usual) => `${usual} pro Stunde ist der Median der aufgezeichneten Läufe dieses Agenten`,
  asOf: (at) => `Stand ${at}`,
  find: {
    label: "Laufendes durchsuchen",
    placeholder: "Name, Agent, Befehl, Status",
    none: "Kein laufender Lauf passt.",
    inHistory: "Alle Läufe durchsuchen",
  },
};
export default texts;

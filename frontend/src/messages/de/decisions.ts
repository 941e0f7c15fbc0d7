import type en from "../en/decisions";
import { counted } from "../plural";

const texts: typeof en = {
  title: "Entscheidungen",
  queue: "Warteschlange",
  open: (n) => counted(n, { one: "offen", other: "offen" }),
  order: "Angehaltene zuerst, älteste zuerst",
  nothing: "Nichts braucht eine Antwort. Sonst öffnet sich hier eine Karte.",
  endsSoon: "Endet gleich",
  select: "Wählen",
  selectOne: (run) => `${run} auswählen`,
  selectAll: "Alle",
  done: "Fertig",
  selected: (n) => counted(n, { one: "Karte ausgewählt", other: "Karten ausgewählt" }),
  chooseSome: "Karten auswählen, die dieselbe Antwort bekommen.",
  sameAnswer: "Dieselbe Antwort für jede, in der angezeigten Fassung.",
  together: {
    continue: (n) => `${String(n)} weiter`,
    terminate: (n) => `${String(n)} beenden`,
    endsIn: (seconds) => `Endet in ${String(seconds)}\u00a0s`,
  },
  second: {
    continue: "alle laufen weiter, Zähler auf null",
    terminate: "nach 5\u00a0s, oder nochmals tippen",
    againNow: "nochmals: sofort beenden",
    none: "keine davon bietet es an",
    not: (n) => counted(n, { one: "kann nicht", other: "können nicht" }),
  },
  cannotContinue: "hat sein Budget verbraucht: auf der Karte antworten",
  similar: "Stuck-Score",
  changed: "etwas hat sich geändert",
  answered: "Beantwortet",
  lastDay: (n) => `${String(n)} in den letzten 24\u00a0h`,
  medianAfter: (span) => `im Median nach ${span}`,
  gone: "Diese Karte ist nicht mehr da.",
  goneWhy: "Vor mehr als einem Tag beantwortet oder nicht zugänglich.",
  all: "Alle Entscheidungen",
  otherwise: "Antworten ohne Wischen",
};
export default texts;

import type en from "../en/decisions";
import { counted } from "../plural";

const texts: typeof en = {
  title: "Entscheidungen",
  queue: "Warteschlange",
  open: (n) => counted(n, { one: "offen", other: "offen" }),
  order: "Angehaltene zuerst, älteste zuerst",
  nothing: "Nichts braucht eine Antwort. Sonst öffnet sich hier eine Karte.",
  endsSoon: "Endet gleich",
  select: "Auswählen",
  selectOne: (run) => `${run} auswählen`,
  selectAll: "Alle",
  done: "Fertig",
  selected: (n) => counted(n, { one: "Karte ausgewählt", other: "Karten ausgewählt" }),
  chooseSome: "Karten antippen, die dieselbe Antwort bekommen.",
  sameAnswer: "Dieselbe Antwort für jede, in der angezeigten Fassung.",
  together: {
    continue: (n) => `${String(n)} weiter`,
    terminate: (n) => `${String(n)} beenden`,
    endsIn: (seconds) => `Endet in ${String(seconds)}\u00a0s`,
  },
  second: {
    continue: "jeder läuft weiter, zählt neu",
    terminate: "nach 5\u00a0s, oder nochmals tippen",
    againNow: "nochmals: sofort",
    none: "keine davon bietet es an",
    not: (n) => counted(n, { one: "kann nicht", other: "können nicht" }),
  },
  cannotContinue: "hat sein Budget verbraucht: auf der Karte antworten",
  similar: "ähnlich früheren Schritten",
  changed: "etwas hat sich geändert",
  answered: "Beantwortet",
  lastDay: (n) => `${String(n)} am letzten Tag`,
  medianAfter: (span) => `im Mittel nach ${span}`,
  gone: "Diese Karte ist nicht mehr da.",
  goneWhy: "Sie wurde vor mehr als einem Tag beantwortet oder ist nicht zugänglich.",
  all: "Alle Entscheidungen",
  otherwise: "Antworten ohne Wischen",
};
export default texts;

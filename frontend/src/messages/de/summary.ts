import type en from "../en/summary";
import { counted } from "../plural";

const texts: typeof en = {
  label: "Was geschah",
  rows: {
    status: "Status",
    asked: "Auftrag",
    whole: "Insgesamt",
    hour: "Letzte Stunde",
    minutes: "Letzte 10\u00a0min",
  },
  hourTo: (time) => `Stunde bis ${time}`,
  minutesTo: (time) => `10\u00a0min bis ${time}`,
  more: "Alles zeigen",
  less: "Weniger zeigen",
  compare: "Mit einem anderen Lauf vergleichen",
  then: (text) => `danach: ${text}`,
  paused: (who, at) => `seit ${at} (${who})`,
  working: (what) => `arbeitet an ${what}`,
  lastSeen: (what) => `zuletzt bei ${what}`,
  calls: (n) => counted(n, { one: "Aufruf", other: "Aufrufe" }),
  none: "keine Aufrufe",
  kinds: {
    file_edit: (n) => counted(n, { one: "Änderung", other: "Änderungen" }),
    test_run: (n) => counted(n, { one: "Testlauf", other: "Testläufe" }),
    shell_exec: (n) => counted(n, { one: "Befehl", other: "Befehle" }),
    search: (n) => counted(n, { one: "Suche", other: "Suchen" }),
    read: (n) => counted(n, { one: "Lesezugriff", other: "Lesezugriffe" }),
    message: (n) => counted(n, { one: "Nachricht", other: "Nachrichten" }),
    other: (n) => counted(n, { one: "anderer Aufruf", other: "andere Aufrufe" }),
  },
  kind: (n, name) => `${n} × ${name}`,
  failed: (n) => `${n} fehlgeschlagen`,
  files: (n) => counted(n, { one: "Datei geändert", other: "Dateien geändert" }),
  file: (path, times) => `${path} ×${times}`,
  moreFiles: (n) => `und ${n} weitere`,
  passed: "die letzten Tests waren erfolgreich",
  failedTests: (n) =>
    `die letzten Tests schlugen fehl${n > 0 ? `: ${counted(n, { one: "Fehler", other: "Fehler" })}` : ""}`,
  lastPassed: "davor erfolgreich",
  commits: (n) => counted(n, { one: "Commit", other: "Commits" }),
  untitled: "Commit",
  spent: (amount) => `${amount} ausgegeben`,
  lately: (n) => `Dateien, Tests und Commits der letzten ${n} Schritte`,
  toTurn: (what, turn) => `${what}, Schritt ${turn}`,
  notFetched: "Was geschah, konnte nicht geladen werden.",
};
export default texts;

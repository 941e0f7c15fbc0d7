import type en from "../en/recordings";
import { counted } from "../plural";

const texts: typeof en = {
  title: "Aufzeichnung importieren",
  about:
    "Eine Sitzung, die anderswo oder früher lief: ein Protokoll eines Agenten in JSON, CSV oder Text, eine Schrittdatei oder ein OTLP-Export in JSON. Sie wird ein Lauf dieses Projekts. Niemand wird gefragt, und ihre Kosten zählen nirgends.",
  drop: "Dateien hier ablegen oder",
  choose: "Dateien wählen",
  project: "Projekt",
  sending: (file) => `${file} wird importiert…`,
  done: (turns, alarms) =>
    `Importiert: ${counted(turns, { one: "Schritt", other: "Schritte" })}. ${alarms === 0 ? "Keine Karte hätte" : counted(alarms, { one: "Karte hätte", other: "Karten hätten" })} sich geöffnet.`,
  known: "Diese Datei wurde schon importiert.",
  open: "Lauf öffnen",
  close: "Schließen",
  failed: "Die Datei konnte nicht gesendet werden. Nichts wurde gespeichert.",
  tooLarge:
    "Die Datei ist größer, als dieser Server annimmt. guard replay DATEI sieht sie an, wo sie liegt.",
  looksOnly: "Wer nur zuschaut, kann keine Aufzeichnung importieren.",
  band: "Importierte Aufzeichnung",
  from: (file, who, when) => `${file}, importiert von ${who} ${when}.`,
  nobody: "Es gibt keinen Agenten, der zu erreichen wäre, und ihre Kosten zählen nirgends.",
  unreadable: (n, named = "") =>
    `${counted(n, { one: "Eintrag war", other: "Einträge waren" })} nicht lesbar${named && `: ${named}`}.`,
  unread: (entry, why) => `Eintrag ${String(entry)}, ${why}`,
  whys: {
    empty: "eine leere Zeile",
    not_json: "kein JSON",
    no_object: "kein JSON-Objekt",
    too_long: "länger als 64 MB",
    no_turn: "kein Schritt darin",
  },
  none: "Nach der Policy dieses Projekts wäre niemand gefragt worden.",
  would: (n) =>
    `Nach der Policy dieses Projekts ${n === 1 ? "hätte sich 1 Karte" : `hätten sich ${String(n)} Karten`} geöffnet:`,
  turn: (turn) => `Schritt ${turn}`,
  until: (turn) => `wieder in Gang bei Schritt ${turn}`,
  fewer: "Weniger",
  all: (n) => `Alle ${String(n)}`,
  notLoaded: "Was gefragt worden wäre, konnte nicht geladen werden.",
};
export default texts;

/** Recorded runs: imported from a file, and looked at like live ones. */
import { counted } from "../plural";

const cards = { one: "card", other: "cards" };
const texts = {
  title: "Import a recording",
  about:
    "A session that ran elsewhere or earlier: a transcript of an agent in JSON, CSV or text, a turn file, or an OTLP export in JSON. It becomes a run of this project. Nobody is asked, and its cost counts nowhere.",
  drop: "Drop files here, or",
  choose: "Choose files",
  project: "Project",
  sending: (file: string) => `Importing ${file}…`,
  done: (turns: number, alarms: number) =>
    `Imported: ${counted(turns, { one: "turn", other: "turns" })}. ${alarms === 0 ? "No card" : counted(alarms, cards)} would have opened.`,
  known: "This file was imported before.",
  open: "Open the run",
  close: "Close",
  failed: "The file could not be sent. Nothing was stored.",
  tooLarge: "The file is larger than this server takes. guard replay FILE looks at it where it is.",
  looksOnly: "A viewer cannot import a recording.",
  band: "Imported recording",
  from: (file: string, who: string, when: string) => `${file}, imported by ${who} ${when}.`,
  nobody: "There is no agent to reach, and its cost counts nowhere.",
  unreadable: (n: number, named = "") =>
    `${counted(n, { one: "entry", other: "entries" })} could not be read${named && `: ${named}`}.`,
  unread: (entry: number, why: string) => `entry ${String(entry)}, ${why}`,
  whys: {
    empty: "an empty line",
    not_json: "not JSON",
    no_object: "not a JSON object",
    too_long: "longer than 64 MB",
    no_turn: "no turn in it",
  },
  none: "Under this project’s policy nobody would have been asked.",
  would: (n: number) => `Under this project’s policy ${counted(n, cards)} would have opened:`,
  turn: (turn: string) => `turn ${turn}`,
  until: (turn: string) => `recovered at turn ${turn}`,
  fewer: "Fewer",
  all: (n: number) => `All ${String(n)}`,
  notLoaded: "What would have been asked could not be loaded.",
};
export default texts;

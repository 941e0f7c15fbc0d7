/** Which runs the board lists, and which it shows above as cards. Pure. */
import { folded } from "../../format/plain";
import { agentLine, hasEnded, stateWords } from "../../format/words";
import type { RunRow } from "../../wire/types";

/** From this many listed runs on, a search field is shown. */
export const MANY_RUNS = 8;

const LOST_FOR_MS = 60 * 60_000;

/** Return whether a run waits at an open card, which is shown instead of a row. */
export function waitsAtCard(run: RunRow): boolean {
  return run.open_decisions > 0 && (run.status === "held" || run.status === "holding");
}

/** Return whether a run is running, or lost contact within the last hour: its agent may run. */
export function isListed(run: RunRow, now: Date): boolean {
  if (run.status !== "lost") return !hasEnded(run) && !waitsAtCard(run);
  return now.getTime() - Date.parse(run.ended_at ?? run.started_at) < LOST_FOR_MS;
}

/** Return whether a run matches a line: its row contains each word. */
export function matchesSearch(run: RunRow, line: string, now: Date): boolean {
  const words = folded(line).split(/\s+/).filter(Boolean);
  if (words.length === 0) return true;
  const row = folded([run.name, agentLine(run), run.doing, stateWords(run, now)].join(" "));
  return words.every((word) => row.includes(word));
}

/** Which runs the board lists, and which stand above as cards. Pure. */
import { folded } from "../../format/plain";
import { agentLine, hasEnded, stateWords } from "../../format/words";
import type { RunRow } from "../../wire/types";

/** From how many running runs on they are searched. */
export const MANY_RUNS = 8;

const LOST_FOR_MS = 60 * 60_000;

/** A run that waits at an open card is shown by its card, not among the running. */
export function awaits(run: RunRow): boolean {
  return run.open_decisions > 0 && (run.status === "held" || run.status === "holding");
}

/** What runs; and for an hour what lost contact, for its agent may still run. */
export function isListed(run: RunRow, now: Date): boolean {
  if (run.status !== "lost") return !hasEnded(run) && !awaits(run);
  return now.getTime() - Date.parse(run.ended_at ?? run.started_at) < LOST_FOR_MS;
}

/** Whether a typed line means a run: each of its words stands in what its row says. */
export function isMeant(run: RunRow, line: string, now: Date): boolean {
  const words = folded(line).split(/\s+/).filter(Boolean);
  if (words.length === 0) return true;
  const row = folded([run.name, agentLine(run), run.doing, stateWords(run, now)].join(" "));
  return words.every((word) => row.includes(word));
}

/** The current spending rate of the runs on the screen. Pure. */
import type { RunRow } from "../../wire/types";
import { burnOf } from "../../format/words";

export function burnOfAll(runs: readonly RunRow[], now: Date): number {
  return runs.reduce((total, run) => total + burnOf(run, now), 0);
}

/** Return whether a run ended since the local midnight. */
export function endedToday(run: RunRow, now: Date): boolean {
  const midnight = new Date(now.getFullYear(), now.getMonth(), now.getDate());
  return run.ended_at !== null && new Date(run.ended_at) >= midnight;
}

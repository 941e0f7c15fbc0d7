/** The money of the runs on the screen: what they burn now. Pure. */
import type { RunRow } from "../wire/types";
import { burnOf } from "../format/words";

export function burnOfAll(runs: readonly RunRow[], now: Date): number {
  return runs.reduce((total, run) => total + burnOf(run, now), 0);
}

/** Did this run do anything since midnight here? */
export function isToday(run: RunRow, now: Date): boolean {
  const midnight = new Date(now.getFullYear(), now.getMonth(), now.getDate());
  return new Date(run.started_at) >= midnight;
}

/** Since when runs have waited for an event that later ones overtook. Pure. */
import type { LiveState } from "./reduce";

/**
 * Longer than the server (250 ms) and this page (100 ms) gather events: one that was merely
 * overtaken has arrived by then. One that has not was lost.
 */
export const GAP_MS = 500;

export class Gaps {
  #since: ReadonlyMap<string, number> = new Map();

  /** Note what each run waits for now, and return the runs that have waited too long. */
  overdue({ early, seq }: LiveState, now: number): string[] {
    const since = new Map<string, number>();
    const overdue: string[] = [];
    for (const run of early.keys()) {
      // If the run has advanced, it waits for another event, from now on.
      const place = `${run} ${seq.get(run) ?? 0}`;
      const began = this.#since.get(place) ?? now;
      since.set(place, began);
      if (now - began >= GAP_MS) overdue.push(run);
    }
    this.#since = since;
    return overdue;
  }
}

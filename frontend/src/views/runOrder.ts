/** The order of the board's runs: fastest spending first, and calm. */
import type { RunRow } from "../wire/types";
import { burnOf } from "../format/words";

const CALM_MS = 5_000;

/** Remembers the last order, so that rows do not jump under the eye or the pointer. */
export class RunOrder {
  #ids: string[] = [];
  #sortedAt = -Infinity;

  sort(runs: readonly RunRow[], now: Date, frozen: boolean): RunRow[] {
    const byId = new Map(runs.map((run) => [run.id, run]));
    const due = now.getTime() - this.#sortedAt >= CALM_MS;
    if (due && !frozen) {
      this.#ids = [...runs].sort((a, b) => bySpending(a, b, now)).map(({ id }) => id);
      this.#sortedAt = now.getTime();
    }
    const known = this.#ids.flatMap((id) => byId.get(id) ?? []);
    const fresh = runs.filter(({ id }) => !this.#ids.includes(id)).sort((a, b) => bySpending(a, b, now));
    this.#ids = [...fresh, ...known].map(({ id }) => id);
    return [...fresh, ...known];
  }
}

function bySpending(a: RunRow, b: RunRow, now: Date): number {
  const spending = burnOf(b, now) - burnOf(a, now);
  if (spending !== 0) return spending;
  return (a.last_turn_at ?? a.started_at) < (b.last_turn_at ?? b.started_at) ? 1 : -1;
}

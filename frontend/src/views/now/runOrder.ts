/** The order of the board's runs: red-lining first, then fastest spending, with few moves. */
import type { RunRow } from "../../wire/types";
import { burnOf } from "../../format/words";
import { isRedlining } from "../../sync/baseline.svelte";

const QUIET_MS = 5_000;
const NO_RATES: ReadonlyMap<string, number> = new Map();

/** Remembers the last order, so that rows do not jump while somebody reads or points. */
export class RunOrder {
  #ids: string[] = [];
  #sortedAt = -Infinity;

  sort(runs: readonly RunRow[], now: Date, frozen: boolean, rates = NO_RATES): RunRow[] {
    const byId = new Map(runs.map((run) => [run.id, run]));
    const due = now.getTime() - this.#sortedAt >= QUIET_MS;
    if (due && !frozen) {
      this.#ids = bySpending(runs, rates, now).map(({ id }) => id);
      this.#sortedAt = now.getTime();
    }
    const known = this.#ids.flatMap((id) => byId.get(id) ?? []);
    const placed = new Set(this.#ids);
    const fresh = bySpending(
      runs.filter(({ id }) => !placed.has(id)),
      rates,
      now,
    );
    // Under the pointer nothing moves: new runs wait at the end.
    const order = frozen ? [...known, ...fresh] : [...fresh, ...known];
    this.#ids = order.map(({ id }) => id);
    return order;
  }
}

function bySpending(
  runs: readonly RunRow[],
  rates: ReadonlyMap<string, number>,
  now: Date,
): RunRow[] {
  const keyed = runs.map((run) => ({
    run,
    over: isRedlining(run, rates, now),
    burn: burnOf(run, now),
    heard: run.last_turn_at ?? run.started_at,
  }));
  keyed.sort((a, b) => {
    if (a.over !== b.over) return a.over ? -1 : 1;
    if (a.burn !== b.burn) return b.burn - a.burn;
    return a.heard < b.heard ? 1 : -1;
  });
  return keyed.map(({ run }) => run);
}

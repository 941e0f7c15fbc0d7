/** What each agent usually spends an hour, as the server tells it; asked now and then. */
import { query, read } from "../wire/api";
import type { Page, RunRow, UsualRow } from "../wire/types";
import { burnOf } from "../format/words";

const AGAIN_MS = 10 * 60_000;
/** From this many times its baseline on, a run is red-lining. */
export const REDLINE = 2;

class Baseline {
  #rates = $state.raw<ReadonlyMap<string, number>>(new Map());
  #askedAt = -Infinity;

  /** Ask again when the last answer is old; a failure leaves what was known. */
  async refresh(now: Date): Promise<void> {
    if (now.getTime() - this.#askedAt < AGAIN_MS) return;
    this.#askedAt = now.getTime();
    try {
      const { results } = await read<Page<UsualRow>>(`costs/usual/${query({ limit: "500" })}`);
      this.#rates = ratesOf(results);
    } catch {
      // without a baseline nothing is said of it
    }
  }

  get rates(): ReadonlyMap<string, number> {
    return this.#rates;
  }

  /** How many times its agent's baseline a run burns; null: not known, or nothing is burnt. */
  times(run: RunRow, now: Date): number | null {
    return timesBaseline(run, this.#rates, now);
  }
}

/** An agent with too few recorded runs has no usual. */
export function ratesOf(rows: readonly UsualRow[]): Map<string, number> {
  const known = rows.filter(({ usd_per_hour }) => Number(usd_per_hour ?? 0) > 0);
  return new Map(known.map((row) => [`${row.project} ${row.agent}`, Number(row.usd_per_hour)]));
}

export function timesBaseline(
  run: RunRow,
  rates: ReadonlyMap<string, number>,
  now: Date,
): number | null {
  const baseline = rates.get(`${run.project} ${run.agent}`);
  const burn = burnOf(run, now);
  return baseline && burn > 0 ? burn / baseline : null;
}

export function isRedlining(run: RunRow, rates: ReadonlyMap<string, number>, now: Date): boolean {
  return (timesBaseline(run, rates, now) ?? 0) >= REDLINE;
}

export const baseline = new Baseline();

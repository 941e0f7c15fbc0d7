/** What each agent usually spends per hour, fetched from the server now and then. */
import { query, read } from "../wire/api";
import type { Page, RunRow, UsualRow } from "../wire/types";
import { burnOf } from "../format/words";

const REFETCH_MS = 10 * 60_000;
/** A run at this multiple of its baseline or above is red-lining. */
export const REDLINE = 2;

class Baseline {
  #rates = $state.raw<ReadonlyMap<string, number>>(new Map());
  #askedAt = -Infinity;

  /** Fetch again if the last answer is old; a failure keeps the known values. */
  async refresh(now: Date): Promise<void> {
    if (now.getTime() - this.#askedAt < REFETCH_MS) return;
    this.#askedAt = now.getTime();
    try {
      const { results } = await read<Page<UsualRow>>(`costs/usual/${query({ limit: "500" })}`);
      this.#rates = ratesOf(results);
    } catch {
      // without a baseline none is shown
    }
  }

  get rates(): ReadonlyMap<string, number> {
    return this.#rates;
  }

  /** The run's burn rate as a multiple of its agent's baseline; null: unknown or nothing burnt. */
  times(run: RunRow, now: Date): number | null {
    return timesBaseline(run, this.#rates, now);
  }
}

/** Agents with too few recorded runs are left out. */
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

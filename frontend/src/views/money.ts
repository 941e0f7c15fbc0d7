/** The money of the runs on the screen: what they cost, and what they burn now. Pure. */
import type { RunRow } from "../wire/types";
import { burnOf, tokensOf } from "../format/words";

export interface Totals {
  cost: number;
  burn: number;
  unpriced: number;
  /** Some agent said something of tokens or money. */
  reported: boolean;
}

export function totalsOf(runs: readonly RunRow[], now: Date): Totals {
  return {
    cost: sum(runs.map((run) => Number(run.cost_usd) + Number(run.judge_cost_usd))),
    burn: sum(runs.map((run) => burnOf(run, now))),
    unpriced: runs.filter((run) => run.unpriced_calls > 0).length,
    reported: runs.some((run) => Number(run.cost_usd) > 0 || tokensOf(run.usage) > 0),
  };
}

/** Did this run do anything since midnight here? */
export function isToday(run: RunRow, now: Date): boolean {
  const midnight = new Date(now.getFullYear(), now.getMonth(), now.getDate());
  return new Date(run.started_at) >= midnight;
}

function sum(values: number[]): number {
  return values.reduce((total, value) => total + value, 0);
}

/** Spending since midnight: the server's sum plus what the meters added. Pure. */
import type { RunRow, TodayRow } from "../wire/types";

/** Dollars since midnight. `ceiling` is null if the day, or one of several projects, has none. */
export interface Today {
  usd: number;
  ceiling: number | null;
  calls: number;
  unpriced: number;
  /** The time zones whose midnight it begins at. */
  zones: readonly string[];
}

/** The server's answer, and the cost of each run when it was given. */
export interface Answer {
  rows: readonly TodayRow[];
  costs: ReadonlyMap<string, number>;
}

/** As the server counted: a run's meters may come before its answer or after it. */
export function answerOf(rows: readonly TodayRow[], runs: readonly RunRow[]): Answer {
  const counted = rows.flatMap((row) => Object.entries(row.counted));
  const costs = costsOf(runs);
  for (const [run, usd] of counted) costs.set(run, Number(usd));
  return { rows, costs };
}

export function todayOf(answer: Answer, runs: readonly RunRow[], now: Date): Today | null {
  const { rows } = answer;
  if (rows.length === 0 || rows.some(({ until }) => new Date(until) <= now)) return null;
  return {
    // Where meters show less than was counted, they are older: the answer stands.
    usd: sum([
      ...rows.map(({ spent_usd }) => Number(spent_usd)),
      ...changes(answer, runs).filter((usd) => usd > 0),
    ]),
    ceiling: ceilingOf(rows),
    calls: sum(rows.map(({ calls }) => calls)),
    unpriced: sum(rows.map(({ unpriced_calls }) => unpriced_calls)),
    zones: [...new Set(rows.map(({ time_zone }) => time_zone))],
  };
}

/** Return what the meters added since the answer; a run not in it counts if it began later. */
export function moved(answer: Answer, runs: readonly RunRow[]): number {
  return toTheMicro(sum(changes(answer, runs)));
}

function changes({ rows, costs }: Answer, runs: readonly RunRow[]): number[] {
  const answered = rows[0]?.at ?? "";
  const before = (run: RunRow) =>
    costs.get(run.id) ?? (run.started_at > answered ? 0 : costOf(run));
  return runs.map((run) => toTheMicro(costOf(run) - before(run)));
}

/** Return whether nothing was spent since the answer, which included all these runs. */
export function isSettled(answer: Answer, runs: readonly RunRow[], now: Date): boolean {
  return (
    todayOf(answer, runs, now) !== null &&
    moved(answer, runs) === 0 &&
    runs.every(({ id }) => answer.costs.has(id))
  );
}

export function costsOf(runs: readonly RunRow[]): Map<string, number> {
  return new Map(runs.map((run) => [run.id, costOf(run)]));
}

function ceilingOf(rows: readonly TodayRow[]): number | null {
  const known = rows.flatMap(({ budget }) => (budget ? [Number(budget.ceiling_usd)] : []));
  return known.length === rows.length ? sum(known) : null;
}

const costOf = (run: RunRow): number => Number(run.cost_usd) + Number(run.judge_cost_usd);
const toTheMicro = (usd: number): number => Math.round(usd * 1e6) / 1e6;

function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0);
}

/** What a threshold on the stuck score would have asked about, and what moving it adds. Pure. */
import type { BacktestRow, PolicyLine, RunScore } from "../../wire/types";

/** With fewer runs, the effect of a threshold is uncertain. */
export const FEW_RUNS = 10;
/** The range of a policy's `sensitivity`. */
const MIN_SENSITIVITY = 0.5;
const MAX_SENSITIVITY = 0.99;

export interface Tally {
  asked: number;
  continued: number;
  /** How many of those a rule asked about although their score is below the line; null: unknown. */
  byLimits: number | null;
}

export interface Difference {
  run: string;
  name: string;
  score: number | null;
  outcome: RunScore["outcome"];
  /** True: only the draft asks; false: only today's policy asks. */
  adds: boolean;
  /** The detector's reason; empty until the runs are replayed. */
  summary: string;
}

/** Return whether a run is asked about; a rule asks regardless of the line. */
export function asksAbout(run: RunScore, line: number | null): boolean {
  return run.rule !== null || (line !== null && run.score !== null && run.score >= line);
}

/** Return how many runs reach the line. What a preset's limits ask, only a replay tells. */
export function reaching(runs: readonly RunScore[], line: number): number {
  return runs.filter(({ score }) => score !== null && score >= line).length;
}

export function tallyOf(runs: readonly RunScore[], line: number | null): Tally {
  const asked = runs.filter((run) => asksAbout(run, line));
  return {
    asked: asked.length,
    continued: asked.filter(({ outcome }) => outcome === "continued").length,
    byLimits: line === null ? null : asked.length - reaching(asked, line),
  };
}

/** Return the runs that only one of two lines asks about, those closest to the line last. */
export function differencesOf(
  runs: readonly RunScore[],
  today: number | null,
  draft: number | null,
): Difference[] {
  return runs
    .filter((run) => asksAbout(run, today) !== asksAbout(run, draft))
    .map((run) => ({
      run: run.run,
      name: run.run_name,
      score: run.score,
      outcome: run.outcome,
      adds: asksAbout(run, draft),
      summary: "",
    }))
    .sort((one, other) => (other.score ?? 0) - (one.score ?? 0));
}

/** Return the same from a replay, which includes the rules of the draft and their reasons. */
export function replayedDifferences(row: BacktestRow, runs: readonly RunScore[]): Difference[] {
  const known = new Map(runs.map((run) => [run.run, run]));
  return row.runs
    .filter(({ proposed, today }) => (proposed === null) !== (today === null))
    .map((run) => ({
      run: run.run,
      name: run.run_name,
      score: known.get(run.run)?.score ?? null,
      outcome: known.get(run.run)?.outcome ?? "unasked",
      adds: run.proposed !== null,
      summary: (run.proposed ?? run.today)?.summary ?? "",
    }));
}

export function replayedTally(side: BacktestRow["today"]): Tally {
  return { asked: side.flagged, continued: side.healthy_flagged, byLimits: null };
}

/** Return how many dollars more than today's policy the draft saves; null: unpriced, or none. */
export function savedMore({ proposed, today }: BacktestRow): number | null {
  if (proposed.cost_after_usd === null) return null;
  const more = Number(proposed.cost_after_usd) - Number(today.cost_after_usd ?? 0);
  return more >= 0.005 ? more : null;
}

/** Return how many turns earlier the draft asks, the median over shared runs; below 0: later. */
export function turnsEarlier(row: BacktestRow): number {
  const moved = row.runs
    .flatMap(({ proposed, today }) =>
      proposed && today ? [today.alarm_turn - proposed.alarm_turn] : [],
    )
    .filter((turns) => turns !== 0)
    .sort((one, other) => one - other);
  return moved[Math.floor(moved.length / 2)] ?? 0;
}

export function replaySeconds(row: BacktestRow): number | null {
  return row.finished_at === null
    ? null
    : Math.max(1, Math.round((Date.parse(row.finished_at) - Date.parse(row.at)) / 1000));
}

/**
 * Return how much more evidence than its sensitivity a policy waits for: allowing more repeats of
 * one call also allows more of mixed repeats.
 */
export function patienceOf({ sensitivity, asks_from }: PolicyLine): number {
  return asks_from === null ? 1 : Math.log(1 - asks_from) / Math.log(1 - sensitivity);
}

export function heightOf(sensitivity: number, patience: number): number {
  return 1 - (1 - sensitivity) ** patience;
}

/** Return the sensitivity for a height of the line, in whole hundredths if possible. */
export function sensitivityAt(height: number, patience: number): number {
  const wanted = 1 - (1 - height) ** (1 / patience);
  const digits = Math.abs(patience - 1) < 0.005 ? 100 : 1000;
  return Math.min(MAX_SENSITIVITY, Math.max(MIN_SENSITIVITY, Math.round(wanted * digits) / digits));
}

/** Return the lowest and the highest position of the line. */
export function reachOf(patience: number): readonly [number, number] {
  return [heightOf(MIN_SENSITIVITY, patience), heightOf(MAX_SENSITIVITY, patience)];
}

/** What a line over the stuck score would have asked about, and what moving it adds. Pure. */
import type { BacktestRow, PolicyLine, RunScore } from "../../wire/types";

/** Under this many runs a line says little. */
export const FEW_RUNS = 10;
/** What a policy's `sensitivity` may be. */
const LEAST = 0.5;
const MOST = 0.99;

export interface Tally {
  asked: number;
  continued: number;
  /** How many of those a rule asked about, though their score lies under the line; null: unknown. */
  byLimits: number | null;
}

export interface Difference {
  run: string;
  name: string;
  score: number | null;
  outcome: RunScore["outcome"];
  /** The draft asks, and today's policy does not; else the other way round. */
  adds: boolean;
  /** Why, in the detector's words; empty until the runs are replayed. */
  summary: string;
}

/** A rule asks wherever the line lies. */
export function asksAbout(run: RunScore, line: number | null): boolean {
  return run.rule !== null || (line !== null && run.score !== null && run.score >= line);
}

/** How many runs came so near to stuck. What a preset's own limits would ask, only a replay tells. */
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

/** The runs that one line asks about and the other does not, those nearest to being missed last. */
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

/** The same from a replay: it knows the rules of the draft as well, and why they ask. */
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

/** What the draft would have saved more than today's policy, in dollars; null: unpriced, or nothing. */
export function savedMore({ proposed, today }: BacktestRow): number | null {
  if (proposed.cost_after_usd === null) return null;
  const more = Number(proposed.cost_after_usd) - Number(today.cost_after_usd ?? 0);
  return more >= 0.005 ? more : null;
}

/** How many turns earlier the draft asks, in the middle of the runs that both ask about; below 0: later. */
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
 * How much more evidence than its sensitivity says a policy waits for: who allows a call
 * to be repeated more often lets a mixture of repeats as well.
 */
export function patienceOf({ sensitivity, asks_from }: PolicyLine): number {
  return asks_from === null ? 1 : Math.log(1 - asks_from) / Math.log(1 - sensitivity);
}

export function heightOf(sensitivity: number, patience: number): number {
  return 1 - (1 - sensitivity) ** patience;
}

/** The sensitivity that puts the line there; a whole hundredth where nothing else is asked for. */
export function sensitivityAt(height: number, patience: number): number {
  const wanted = 1 - (1 - height) ** (1 / patience);
  const digits = Math.abs(patience - 1) < 0.005 ? 100 : 1000;
  return Math.min(MOST, Math.max(LEAST, Math.round(wanted * digits) / digits));
}

/** The lowest and the highest place of the line. */
export function reachOf(patience: number): readonly [number, number] {
  return [heightOf(LEAST, patience), heightOf(MOST, patience)];
}

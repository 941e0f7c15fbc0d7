/** The comparison of two runs, as it is drawn. Pure. */
import { scoreOf } from "../../format/score";
import type { ComparedStep, RunComparison, RunSeries, RunSummary, RunRow } from "../../wire/types";
import { tokensOf } from "../../format/words";

type Stretch = RunComparison["stretches"][number];

/** A row of the steps: a folded common section, or two steps side by side. */
export type StepRow =
  | { kind: "folded"; at: number; a: readonly ComparedStep[]; b: readonly ComparedStep[] }
  | { kind: "step"; same: boolean; a: ComparedStep | null; b: ComparedStep | null };

/** A value of A and of B; null: not known. */
export type Figure = readonly [a: number | null, b: number | null];
export type FigureName = "cost" | "turns" | "time" | "tokens" | "score" | "files" | "tests";

export interface Side {
  run: RunRow;
  summary: RunSummary | null;
  series: RunSeries | null;
}

/** Up to this many common steps are shown; more are folded to one row. */
const STAND = 2;

/** @param unfolded the indexes of sections that are shown step by step */
export function rowsOf(
  stretches: readonly Stretch[],
  unfolded: ReadonlySet<number>,
): readonly StepRow[] {
  return stretches.flatMap(({ same, a, b }, at): StepRow[] => {
    if (same && a.length > STAND && !unfolded.has(at)) return [{ kind: "folded", at, a, b }];
    const rows = Math.max(a.length, b.length);
    return Array.from({ length: rows }, (_, row) => ({
      kind: "step",
      same,
      a: a[row] ?? null,
      b: b[row] ?? null,
    }));
  });
}

export function figuresOf(a: Side, b: Side): readonly (readonly [FigureName, Figure])[] {
  const both = (of: (side: Side) => number | null): Figure => [of(a), of(b)];
  return [
    ["cost", both(costOf)],
    ["turns", both(({ run }) => run.turns)],
    ["time", both(timeOf)],
    ["tokens", both(({ run }) => tokensOf(run.usage) || null)],
    ["score", both(highestOf)],
    ["files", both(({ summary }) => summary?.whole?.file_count ?? null)],
    ["tests", both(({ summary }) => (summary?.whole ? (summary.whole.tests?.runs ?? 0) : null))],
  ];
}

/** Return dollars; null: a call has no price, so the sum would be too low, or none was reported. */
export function costOf({ run }: Side): number | null {
  const cost = Number(run.cost_usd);
  return run.unpriced_calls > 0 || (cost === 0 && tokensOf(run.usage) === 0) ? null : cost;
}

/** Return the milliseconds from its opening to its last turn. */
function timeOf({ run }: Side): number | null {
  return run.last_turn_at ? Date.parse(run.last_turn_at) - Date.parse(run.started_at) : null;
}

function highestOf({ series }: Side): number | null {
  const scores = (series?.points ?? []).flatMap(({ score }) => (score === null ? [] : [score]));
  return series && scores.length > 0 ? scoreOf(Math.max(...scores), series.asks_from) : null;
}

/** Return both scores over the same turns; each point is the highest of its turns. */
export function onOneAxis(
  a: RunSeries,
  b: RunSeries,
): { x: number[]; a: (number | null)[]; b: (number | null)[] } {
  const step = Math.max(a.turns_a_point, b.turns_a_point);
  const end = Math.max(a.to_seq, b.to_seq);
  const x = Array.from({ length: Math.floor(end / step) + 1 }, (_, place) => place * step);
  const scores = ({ points, asks_from }: RunSeries) =>
    x.map((from) => {
      const within = points.filter(
        ({ from_seq, to_seq, score }) => score !== null && from_seq < from + step && to_seq >= from,
      );
      return within.length === 0
        ? null
        : scoreOf(Math.max(...within.map(({ score }) => score ?? 0)), asks_from);
    });
  return { x, a: scores(a), b: scores(b) };
}

/** Return the previous run of the same task: the last of the same name that began earlier. */
export function lastOfTask<Run extends Pick<RunRow, "id" | "name" | "started_at">>(
  run: Run,
  others: readonly Run[],
): Run | null {
  return others
    .filter(({ name, started_at }) => name === run.name && started_at < run.started_at)
    .reduce<Run | null>(
      (last, one) => (last && last.started_at > one.started_at ? last : one),
      null,
    );
}

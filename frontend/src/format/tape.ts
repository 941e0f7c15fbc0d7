/** The bars that the tape draws, computed from its points. Pure. */
import type { RunRow, RunSeries, TapePoint } from "../wire/types";
import { words as t } from "../messages/texts";
import { LIMIT } from "./words";

export type Tone = "below" | "open" | "answered";

export interface Bar {
  /** In [0, 1]. */
  height: number;
  changed: boolean;
  tone: Tone;
  /** First and last `seq` of the turns that this bar represents. */
  from: number;
  to: number;
}

/** Up to this many turns, each has a bar of its own. */
export const MAX_BARS = 300;

/**
 * @param points   oldest first
 * @param firstSeq the `seq` of the first point's turn
 * @param openFrom first `seq` of the loop an open card is about, or null
 */
export function barsOf(
  points: readonly TapePoint[],
  firstSeq: number,
  openFrom: number | null,
): Bar[] {
  const perBar = Math.max(1, points.length / MAX_BARS);
  const bars = Math.round(points.length / perBar);
  return Array.from({ length: bars }, (_, i) => {
    const [start, end] = [Math.floor(i * perBar), Math.floor((i + 1) * perBar)];
    const group = points.slice(start, Math.max(end, start + 1));
    return barOf(group, firstSeq + start, openFrom);
  });
}

/** A bar of many turns shows their *maximum*, so that zooming out never hides a loop. */
function barOf(group: readonly TapePoint[], from: number, openFrom: number | null): Bar {
  const height = Math.max(...group.map(([score]) => score));
  const to = from + group.length - 1;
  const changed = group.some(([, c]) => c);
  return { height, changed, tone: toneOf(height, to, openFrom), from, to };
}

function toneOf(height: number, to: number, openFrom: number | null): Tone {
  if (height < LIMIT) return "below";
  return openFrom !== null && to >= openFrom ? "open" : "answered";
}

/** Return the bars of a row's tape: its last points, positioned by their total number. */
export function rowBars(run: RunRow, openFrom: number | null, last = run.tape.length): Bar[] {
  const points = run.tape.slice(-last);
  return barsOf(points, run.judged_turns - points.length, openFrom);
}

/**
 * Return the bars of a run page's tape, whole or in part: the server's points, then from the
 * row's tape the turns judged since.
 */
export function seriesBars(
  series: RunSeries,
  run: RunRow,
  openFrom: number | null,
  isWhole: boolean,
): Bar[] {
  const bars = series.points.map(({ from_seq: from, to_seq: to, score, changed }): Bar => {
    const height = score ?? liveAt(run, to)?.[0] ?? 0;
    return {
      height,
      changed: changed || (liveAt(run, to)?.[1] ?? false),
      tone: toneOf(height, to, openFrom),
      from,
      to,
    };
  });
  const all =
    isWhole && series.turns_a_point === 1
      ? [...bars, ...barsSince(series.to_seq, run, openFrom)]
      : bars;
  // Turns that are not judged yet have no bar.
  const judged = all.findLastIndex(({ height, changed }) => height > 0 || changed);
  return all.slice(0, Math.max(judged + 1, Math.min(all.length, run.judged_turns)));
}

function barsSince(seq: number, run: RunRow, openFrom: number | null): Bar[] {
  const start = run.judged_turns - run.tape.length;
  const from = Math.max(seq + 1, start);
  return run.tape.slice(Math.max(0, from - start)).map(([height, changed], i): Bar => {
    return {
      height,
      changed,
      tone: toneOf(height, from + i, openFrom),
      from: from + i,
      to: from + i,
    };
  });
}

function liveAt(run: RunRow, seq: number): TapePoint | undefined {
  return run.tape[seq - (run.judged_turns - run.tape.length)];
}

/** Describe the tape, for screen readers. */
export function tapeWords(bars: readonly Bar[]): string {
  const some = bars.filter(({ height }) => height >= LIMIT).length;
  const trailing = bars.length - 1 - bars.findLastIndex(({ height }) => height < LIMIT);
  return trailing > 0 ? t.tape.last(bars.length, trailing) : t.tape.some(bars.length, some);
}

/** From points to bars: what the tape draws. Pure. */
import type { RunRow, TapePoint, TurnRow } from "../wire/types";
import { LIMIT } from "./words";

export type Tone = "below" | "open" | "answered";

export interface Bar {
  /** In [0, 1]. */
  height: number;
  changed: boolean;
  tone: Tone;
  /** The turns this bar stands for, first and last `seq`. */
  from: number;
  to: number;
}

/** Up to this many turns each has a bar of its own. */
export const MOST_BARS = 300;

/**
 * @param points   oldest first
 * @param firstSeq the `seq` of the first point's turn
 * @param openFrom first `seq` of the loop an open card is about, or null
 */
export function barsOf(
  points: readonly TapePoint[],
  firstSeq: number,
  openFrom: number | null,
  limit = LIMIT,
): Bar[] {
  const perBar = Math.max(1, points.length / MOST_BARS);
  const bars = Math.round(points.length / perBar);
  return Array.from({ length: bars }, (_, i) => {
    const [start, end] = [Math.floor(i * perBar), Math.floor((i + 1) * perBar)];
    const group = points.slice(start, Math.max(end, start + 1));
    return barOf(group, firstSeq + start, openFrom, limit);
  });
}

/** A bar of many turns shows the *maximum*: a loop never disappears by zooming out. */
function barOf(
  group: readonly TapePoint[],
  from: number,
  openFrom: number | null,
  limit: number,
): Bar {
  const height = Math.max(...group.map(([similarity]) => similarity));
  const to = from + group.length - 1;
  const changed = group.some(([, c]) => c);
  return { height, changed, tone: toneOf(height, to, openFrom, limit), from, to };
}

function toneOf(height: number, to: number, openFrom: number | null, limit: number): Tone {
  if (height < limit) return "below";
  return openFrom !== null && to >= openFrom ? "open" : "answered";
}

/** A row's tape: its last points, placed by how many there were in all. */
export function rowBars(run: RunRow, openFrom: number | null, last = run.tape.length): Bar[] {
  const points = run.tape.slice(-last);
  return barsOf(points, run.judged_turns - points.length, openFrom);
}

/**
 * A run page's tape: every loaded turn's own values; what was judged since the
 * turn arrived comes from the row's tape.
 */
export function turnBars(
  turns: readonly TurnRow[],
  run: RunRow,
  openFrom: number | null,
): Bar[] {
  const start = run.judged_turns - run.tape.length;
  const points: TapePoint[] = [];
  let firstSeq: number | null = null;
  for (const turn of turns) {
    const live = run.tape[turn.seq - start];
    const point: TapePoint | undefined =
      turn.similarity === null ? live : [turn.similarity, turn.changed ?? live?.[1] ?? false];
    if (!point) continue;
    firstSeq ??= turn.seq;
    points.push(point);
  }
  return firstSeq === null ? rowBars(run, openFrom) : barsOf(points, firstSeq, openFrom);
}

/** The tape in words, for those who do not see it. */
export function tapeWords(bars: readonly Bar[], limit = LIMIT): string {
  const over = bars.filter(({ height }) => height >= limit).length;
  const trailing = bars.length - 1 - bars.findLastIndex(({ height }) => height < limit);
  const tail =
    trailing > 0
      ? `the last ${String(trailing)} over ${limit.toFixed(2)}`
      : `${String(over)} over ${limit.toFixed(2)}`;
  return `similarity of the last ${String(bars.length)} turns, ${tail}`;
}

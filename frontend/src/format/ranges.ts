/** Turns by their `seq`, in stretches without a gap. Pure. */

/** First and last `seq` of a stretch. */
export type Range = readonly [from: number, to: number];

/** How many turns the ranges hold. */
export function countOf(ranges: readonly Range[]): number {
  return ranges.reduce((sum, [from, to]) => sum + to - from + 1, 0);
}

/** The ranges and one turn more, which comes after all of them or is among them. */
export function withSeq(ranges: readonly Range[], seq: number): readonly Range[] {
  const last = ranges.at(-1);
  if (last && seq <= last[1]) return ranges;
  if (last && seq === last[1] + 1) return [...ranges.slice(0, -1), [last[0], seq]];
  return [...ranges, [seq, seq]];
}

/** The n-th turn of the ranges, and which one a turn is: for next and previous. */
export function nthOf(ranges: readonly Range[], n: number): number | null {
  let left = n;
  for (const [from, to] of ranges) {
    if (left <= to - from) return from + left;
    left -= to - from + 1;
  }
  return null;
}

/** How many turns of the ranges come before a turn. */
export function rankOf(ranges: readonly Range[], seq: number): number {
  let rank = 0;
  for (const [from, to] of ranges) {
    if (to < seq) rank += to - from + 1;
    else return rank + Math.max(0, seq - from);
  }
  return rank;
}

/** Is a turn among the ranges? */
export function isIn(ranges: readonly Range[], seq: number): boolean {
  let [low, high] = [0, ranges.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((ranges[middle]?.[1] ?? Infinity) < seq) low = middle + 1;
    else high = middle;
  }
  const range = ranges[low];
  return range !== undefined && range[0] <= seq;
}

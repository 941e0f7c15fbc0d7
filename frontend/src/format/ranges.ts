/** Sets of turns as ranges of `seq` without gaps. Pure. */

/** First and last `seq` of a range. */
export type Range = readonly [from: number, to: number];

/** Return how many turns the ranges contain. */
export function countOf(ranges: readonly Range[]): number {
  return ranges.reduce((sum, [from, to]) => sum + to - from + 1, 0);
}

/** Add a turn to the ranges; they are returned unchanged if they contain it. */
export function withSeq(ranges: readonly Range[], seq: number): readonly Range[] {
  if (isIn(ranges, seq)) return ranges;
  return replaced(ranges, [seq, seq], [[seq, seq]]);
}

/** Replace what the ranges contain in a section by what was found there. */
export function replaced(
  ranges: readonly Range[],
  [from, to]: Range,
  found: readonly Range[],
): readonly Range[] {
  const below = ranges
    .filter(([first]) => first < from)
    .map(([first, last]): Range => [first, Math.min(last, from - 1)]);
  const above = ranges
    .filter(([, last]) => last > to)
    .map(([first, last]): Range => [Math.max(first, to + 1), last]);
  return joined([...below, ...found, ...above]);
}

/** Sort ranges, and join those without a gap between them. */
function joined(ranges: readonly Range[]): Range[] {
  const all: Range[] = [];
  for (const [from, to] of ranges) {
    const last = all.at(-1);
    if (last && last[1] === from - 1) all[all.length - 1] = [last[0], to];
    else all.push([from, to]);
  }
  return all;
}

/** Return the n-th turn of the ranges, from 0; null: there is none. */
export function nthOf(ranges: readonly Range[], n: number): number | null {
  let left = n;
  for (const [from, to] of ranges) {
    if (left <= to - from) return from + left;
    left -= to - from + 1;
  }
  return null;
}

/** Return how many turns of the ranges come before a turn. */
export function rankOf(ranges: readonly Range[], seq: number): number {
  let rank = 0;
  for (const [from, to] of ranges) {
    if (to < seq) rank += to - from + 1;
    else return rank + Math.max(0, seq - from);
  }
  return rank;
}

/** Return whether the ranges contain a turn. */
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

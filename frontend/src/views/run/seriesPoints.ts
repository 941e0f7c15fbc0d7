/** A run's series, prepared for charts. Pure. */
import type { SeriesPoint } from "../../wire/types";

/** Return the position of the point that contains a turn; the nearest one beyond either end. */
export function placeIn(points: readonly SeriesPoint[], seq: number): number {
  let [low, high] = [0, Math.max(0, points.length - 1)];
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((points[middle]?.to_seq ?? Infinity) < seq) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** Return the spending up to the end of each point. */
export function costSoFar(points: readonly SeriesPoint[], before: string): number[] {
  let sum = Number(before);
  return points.map(({ cost_usd }) => (sum += Number(cost_usd)));
}

/** Drop positions whose label repeats the one before: in a short run, turns share a minute. */
export function withoutRepeats(
  places: readonly number[],
  words: (place: number) => string,
): number[] {
  return places.filter((place, i) => i === 0 || words(place) !== words(places[i - 1] ?? place));
}

/** Return a few evenly spaced positions for labels of the axis, never at the edge. */
export function evenPlaces(count: number, max = 6): number[] {
  const steps = Math.min(max, count);
  return Array.from({ length: steps }, (_, i) => Math.floor(((i + 0.5) * count) / steps));
}

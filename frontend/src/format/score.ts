/** The stuck score as people see it: a line from 0 to 1 over the turns. Pure. */
import type { Bar, Tone } from "./tape";

export interface Point {
  /** In [0, 1]; where a policy asks, `asks`. */
  score: number;
  changed: boolean;
  tone: Tone;
  from: number;
  to: number;
}

/** Where nothing is known of the policy's line, the score is how near a card it is. */
const NO_LINE = 1;

/**
 * From how near a card a turn is (1 opens one) to its stuck score.
 *
 * The evidence behind both is the same: each more of it halves the doubt.
 * @param asks the score from which the policy asks; null: it does not ask by the score
 */
export function scoreOf(nearness: number, asks: number | null): number {
  const line = asks ?? NO_LINE;
  return line >= 1 ? nearness : 1 - Math.pow(1 - line, nearness);
}

export function pointsOf(bars: readonly Bar[], asks: number | null): Point[] {
  return bars.map(({ height, ...rest }) => ({ ...rest, score: scoreOf(height, asks) }));
}

/** The place of the last rise, or of the last point where it never rose. */
export function lastRise(points: readonly Point[]): number {
  const rose = points.findLastIndex(
    ({ score }, place) => score - (points[place - 1]?.score ?? 0) >= 0.005,
  );
  return rose >= 0 ? rose : points.length - 1;
}

/** The line through all points, in a box `slots` wide and 1 high. */
export function linePath(points: readonly Point[]): string {
  return points.map((point, place) => `${place ? "L" : "M"}${spot(point, place)}`).join("");
}

/** The parts of the line that lead up to and over the limit, of one tone. */
export function overPath(points: readonly Point[], tone: Tone): string {
  return points
    .map((point, place) => {
      if (point.tone !== tone) return "";
      const before = points[place - 1];
      return before
        ? `M${spot(before, place - 1)}L${spot(point, place)}`
        : `M${spot(point, place)}h0.01`;
    })
    .join("");
}

/** Ticks where something changed: one a stretch of neighbours. */
export function changes(points: readonly Point[]): (readonly [from: number, length: number])[] {
  const found: [number, number][] = [];
  points.forEach(({ changed }, place) => {
    const last = found.at(-1);
    if (!changed) return;
    if (last && last[0] + last[1] === place) last[1]++;
    else found.push([place, 1]);
  });
  return found;
}

/** Whether the line runs higher at the left end of its box than at the right: words stand there badly. */
export function isHighAtLeft(points: readonly Point[], slots: number): boolean {
  const part = Math.ceil(slots / 5);
  const highest = (some: readonly Point[]) => Math.max(0, ...some.map(({ score }) => score));
  return highest(points.slice(0, part)) > highest(points.slice(slots - part));
}

/** Places for the numbers under the line: all of a few, or at most `most` in even steps and the last. */
export function marks(count: number, most: number): number[] {
  const places = Array.from({ length: count }, (_, place) => place);
  const last = count - 1;
  // Twice as many still have room, and a number that is left out of few looks forgotten.
  const step = count < 2 * most ? 1 : Math.ceil(last / (most - 1));
  return places.filter(
    (place) => place === last || (place % step === 0 && last - place >= step / 2),
  );
}

function spot({ score }: Point, place: number): string {
  return `${String(place + 0.5)} ${(1 - score).toFixed(4)}`;
}

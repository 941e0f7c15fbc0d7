/** The stuck score as it is drawn: a line from 0 to 1 over the turns. Pure. */
import type { Bar, Tone } from "./tape";

export interface Point {
  /** In [0, 1]; at `asks`, the policy asks a person. */
  score: number;
  changed: boolean;
  tone: Tone;
  from: number;
  to: number;
}

/** If the policy does not ask by the score, the score is how near a turn is to a card. */
const NO_LINE = 1;

/**
 * Convert how near a turn is to a card (1 opens one) to its stuck score.
 *
 * Both measure the same evidence: each further unit of it halves the doubt.
 * @param asks the score from which the policy asks; null: it does not ask by the score
 */
export function scoreOf(nearness: number, asks: number | null): number {
  const line = asks ?? NO_LINE;
  return line >= 1 ? nearness : 1 - Math.pow(1 - line, nearness);
}

export function pointsOf(bars: readonly Bar[], asks: number | null): Point[] {
  return bars.map(({ height, ...rest }) => ({ ...rest, score: scoreOf(height, asks) }));
}

/** Return the index of the last rise; if there is none, of the last point. */
export function lastRise(points: readonly Point[]): number {
  const rose = points.findLastIndex(
    ({ score }, place) => score - (points[place - 1]?.score ?? 0) >= 0.005,
  );
  return rose >= 0 ? rose : points.length - 1;
}

/** Return the line through all points, in a box `slots` wide and 1 high. */
export function linePath(points: readonly Point[]): string {
  return points.map((point, place) => `${place ? "L" : "M"}${spot(point, place)}`).join("");
}

/** Return the parts of the line with one tone, which lead up to and over the limit. */
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

/** Return ticks where something changed: one for each series of neighbours. */
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

/** Return whether the line is higher at the left of its box, where labels would cover it. */
export function isHighAtLeft(points: readonly Point[], slots: number): boolean {
  const part = Math.ceil(slots / 5);
  const highest = (some: readonly Point[]) => Math.max(0, ...some.map(({ score }) => score));
  return highest(points.slice(0, part)) > highest(points.slice(slots - part));
}

/** Return positions of the numbers below the line: all, or `max` in even steps and the last. */
export function marks(count: number, max: number): number[] {
  const places = Array.from({ length: count }, (_, place) => place);
  const last = count - 1;
  // Twice as many still fit, and among few numbers a missing one looks like an error.
  const step = count < 2 * max ? 1 : Math.ceil(last / (max - 1));
  return places.filter(
    (place) => place === last || (place % step === 0 && last - place >= step / 2),
  );
}

function spot({ score }: Point, place: number): string {
  return `${String(place + 0.5)} ${(1 - score).toFixed(4)}`;
}

import { describe, expect, it } from "vitest";
import {
  changes,
  isHighAtLeft,
  lastRise,
  linePath,
  marks,
  overPath,
  pointsOf,
  scoreOf,
} from "./score";
import type { Bar } from "./tape";

const bar = (height: number, rest: Partial<Bar> = {}): Bar => ({
  height,
  changed: false,
  tone: height >= 1 ? "open" : "below",
  from: 0,
  to: 0,
  ...rest,
});

describe("the score of a turn", () => {
  it("is the policy's line where a card opens, and 0 where nothing stirs", () => {
    expect([scoreOf(0, 0.8), scoreOf(1, 0.8)]).toEqual([0, expect.closeTo(0.8)]);
  });

  it("halves the doubt with each more of the evidence", () => {
    expect(scoreOf(0.5, 0.8)).toBeCloseTo(0.553, 3);
  });

  it("is how near a card it is where the policy does not ask by the score", () => {
    expect(scoreOf(0.4, null)).toBe(0.4);
  });
});

it.each([
  ["a short run that loops from its start", [0, 0.66, 1], 30, true],
  ["a long run that loops at its end", [0, 0, 0, 0, 0, 0, 0, 0, 0, 1], 10, false],
  ["a run that never loops", [0, 0], 30, false],
  ["no run at all", [], 30, false],
])("tells where words over the line have room: %s", (_, heights, slots, isHigh) => {
  const points = pointsOf(
    heights.map((height) => bar(height)),
    0.8,
  );

  expect(isHighAtLeft(points, slots)).toBe(isHigh);
});

it("finds the last rise, and the end where there was none", () => {
  const rose = pointsOf([bar(0.1), bar(0.6), bar(0.6), bar(0.2)], 0.8);

  expect(lastRise(rose)).toBe(1);
  expect(lastRise(pointsOf([bar(0), bar(0)], 0.8))).toBe(1);
});

it("draws a point a turn, and what led over the limit apart", () => {
  const points = pointsOf([bar(0), bar(1)], null);

  expect(linePath(points)).toBe("M0.5 1.0000L1.5 0.0000");
  expect(overPath(points, "open")).toBe("M0.5 1.0000L1.5 0.0000");
  expect(overPath(points, "answered")).toBe("");
});

it("joins neighbours in which something changed", () => {
  const moved = [true, true, false, true].map((changed) => bar(0, { changed }));

  expect(changes(pointsOf(moved, 0.8))).toEqual([
    [0, 2],
    [3, 1],
  ]);
});

it("numbers the first turn, the last, and some between", () => {
  expect([marks(0, 5), marks(1, 5), marks(6, 5), marks(12, 5), marks(101, 5)]).toEqual([
    [],
    [0],
    [0, 1, 2, 3, 4, 5],
    [0, 3, 6, 9, 11],
    [0, 25, 50, 75, 100],
  ]);
});

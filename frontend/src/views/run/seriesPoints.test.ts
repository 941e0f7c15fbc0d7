import { expect, it } from "vitest";
import type { SeriesPoint } from "../../wire/types";
import { costSoFar, evenPlaces, placeIn, withoutRepeats } from "./seriesPoints";

const points = [
  [0, 9],
  [10, 19],
  [20, 25],
].map(([from = 0, to = 0], i): SeriesPoint => ({
  from_seq: from,
  to_seq: to,
  at: "",
  score: null,
  score_least: null,
  changed: false,
  signals: 0,
  failures: 0,
  cost_usd: String((i + 1) / 10),
  fresh: 0,
  cached: 0,
  output: 0,
  tokens: 0,
}));

it("finds the point of each turn", () => {
  expect([0, 9, 10, 25, 99].map((seq) => placeIn(points, seq))).toEqual([0, 0, 1, 2, 2]);
  expect(placeIn([], 5)).toBe(0);
});

it("adds up what was spent", () => {
  expect(costSoFar(points, "1").map((sum) => sum.toFixed(1))).toEqual(["1.1", "1.3", "1.6"]);
});

it("writes the axis at even distances", () => {
  expect(evenPlaces(300)).toEqual([25, 75, 125, 175, 225, 275]);
  expect([evenPlaces(0), evenPlaces(1), evenPlaces(3)]).toEqual([[], [0], [0, 1, 2]]);
});

it("writes no word twice in a row", () => {
  const words = ["21:50", "21:50", "21:51", "21:51", "21:50"];

  expect(withoutRepeats([0, 1, 2, 3, 4], (place) => words[place] ?? "")).toEqual([0, 2, 4]);
});

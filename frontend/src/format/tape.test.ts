import { describe, expect, it } from "vitest";
import { aRun } from "../fixtures/rows";
import type { RunSeries, SeriesPoint, TapePoint } from "../wire/types";
import { barsOf, MAX_BARS, rowBars, seriesBars, tapeWords } from "./tape";

const loop: TapePoint[] = [
  [0.2, true],
  [1, false],
  [0.3, false],
  [1, false],
];

describe("bars", () => {
  it("are amber only in the open loop", () => {
    expect(barsOf(loop, 10, 12).map(({ tone }) => tone)).toEqual([
      "below",
      "answered",
      "below",
      "open",
    ]);
    expect(barsOf(loop, 10, null).map(({ tone }) => tone)).toEqual([
      "below",
      "answered",
      "below",
      "answered",
    ]);
  });

  it("of a long run keep each loop's height, and any change", () => {
    const points: TapePoint[] = Array.from({ length: 1914 }, (_, i) => [
      i === 1000 ? 1 : 0.1,
      i === 3,
    ]);
    const bars = barsOf(points, 0, null);

    expect(bars).toHaveLength(MAX_BARS);
    expect([
      Math.max(...bars.map(({ height }) => height)),
      bars[0]?.changed,
      bars.at(-1)?.to,
    ]).toEqual([1, true, 1913]);
  });

  it("of a row are placed by how many there were in all", () => {
    const bars = rowBars(aRun({ tape: loop, judged_turns: 40 }), null, 2);

    expect(bars.map(({ from }) => from)).toEqual([38, 39]);
  });
});

describe("a run page's tape", () => {
  const point = (seq: number, score: number | null, to = seq): SeriesPoint => ({
    from_seq: seq,
    to_seq: to,
    at: "",
    score,
    score_least: score,
    changed: false,
    signals: 0,
    failures: 0,
    cost_usd: "0",
    fresh: 0,
    cached: 0,
    output: 0,
    tokens: 0,
  });
  const series = (points: SeriesPoint[], turns_a_point = 1): RunSeries => ({
    run: "run-1",
    from_seq: 0,
    to_seq: points.at(-1)?.to_seq ?? -1,
    turns: 9,
    turns_a_point,
    cost_before_usd: "0",
    asks_from: 0.8,
    points,
  });

  it("has a bar for each point, amber in the open loop", () => {
    const bars = seriesBars(
      series([point(0, 0.2), point(1, 1), point(2, 1)]),
      aRun({ judged_turns: 3 }),
      2,
      true,
    );

    expect(bars.map(({ height, tone }) => [height, tone])).toEqual([
      [0.2, "below"],
      [1, "answered"],
      [1, "open"],
    ]);
  });

  it("goes on with what was judged since", () => {
    const run = aRun({
      tape: [
        [0.3, true],
        [1, false],
      ],
      judged_turns: 3,
    });

    expect(
      seriesBars(series([point(0, 0.2), point(1, null)]), run, null, true).map(
        ({ from, height }) => [from, height],
      ),
    ).toEqual([
      [0, 0.2],
      [1, 0.3],
      [2, 1],
    ]);
    expect(seriesBars(series([point(0, 0.2)]), run, null, false)).toHaveLength(1);
    expect(seriesBars(series([point(0, 0.2, 9)], 10), run, null, true)).toHaveLength(1);
  });

  it("leaves out turns that wait to be judged", () => {
    expect(
      seriesBars(series([point(0, 0.2), point(1, null)]), aRun({ judged_turns: 1 }), null, true),
    ).toHaveLength(1);
  });
});

it("says the tape in words", () => {
  expect(tapeWords(barsOf(loop, 0, 0))).toBe(
    "stuck score of the last 4 turns; the last 1 opened a card",
  );
  expect(tapeWords(barsOf(loop.slice(0, 3), 0, 0))).toBe(
    "stuck score of the last 3 turns; 1 opened a card",
  );
});

import { describe, expect, it } from "vitest";
import { aRun, aTurn } from "../fixtures/rows";
import type { TapePoint } from "../wire/types";
import { barsOf, MOST_BARS, rowBars, tapeWords, turnBars } from "./tape";

const loop: TapePoint[] = [[0.2, true], [0.9, false], [0.3, false], [0.95, false]];

describe("bars", () => {
  it("are amber only in the open loop", () => {
    expect(barsOf(loop, 10, 12).map(({ tone }) => tone)).toEqual(["below", "answered", "below", "open"]);
    expect(barsOf(loop, 10, null).map(({ tone }) => tone)).toEqual(["below", "answered", "below", "answered"]);
  });

  it("of a long run keep each loop's height, and any change", () => {
    const points: TapePoint[] = Array.from({ length: 1914 }, (_, i) => [i === 1000 ? 0.97 : 0.1, i === 3]);
    const bars = barsOf(points, 0, null);

    expect(bars).toHaveLength(MOST_BARS);
    expect([Math.max(...bars.map(({ height }) => height)), bars[0]?.changed, bars.at(-1)?.to]).toEqual([0.97, true, 1913]);
  });

  it("of a row are placed by how many there were in all", () => {
    const bars = rowBars(aRun({ tape: loop, judged_turns: 40 }), null, 2);

    expect(bars.map(({ from }) => from)).toEqual([38, 39]);
  });
});

describe("a run page's tape", () => {
  it("takes what was judged later from the row", () => {
    const run = aRun({ tape: [[0.9, false]], judged_turns: 2 });
    const turns = [aTurn({ seq: 0, similarity: 0.2 }), aTurn({ seq: 1 }), aTurn({ seq: 2 })];

    expect(turnBars(turns, run, 0).map(({ height }) => height)).toEqual([0.2, 0.9]);
  });

  it("shows the row's while no turn has come", () => {
    expect(turnBars([], aRun({ tape: loop, judged_turns: 4 }), null)).toHaveLength(4);
  });
});

it("says the tape in words", () => {
  expect(tapeWords(barsOf(loop, 0, 0))).toBe("similarity of the last 4 turns, the last 1 over 0.86");
  expect(tapeWords(barsOf(loop.slice(0, 3), 0, 0))).toBe("similarity of the last 3 turns, 1 over 0.86");
});

import { describe, expect, it } from "vitest";
import { RowPositions, standingIn, rowsToDraw } from "./virtualRows";

describe("RowPositions", () => {
  const rows = new RowPositions(100, 10, [
    [3, 50],
    [7, 5],
  ]);

  it("places each row after the ones before it", () => {
    expect([0, 3, 4, 7, 8, 99].map((index) => rows.offsetOf(index))).toEqual([
      0, 30, 80, 110, 115, 1025,
    ]);
    expect(rows.total).toBe(1035);
  });

  it("finds the row at each distance, and the nearest outside", () => {
    expect([0, 29, 30, 79, 80, 112, 115, 1034].map((offset) => rows.indexAt(offset))).toEqual([
      0, 2, 3, 3, 4, 7, 8, 99,
    ]);
    expect([rows.indexAt(-5), rows.indexAt(9_999)]).toEqual([0, 99]);
  });

  it("knows the height of each", () => {
    expect([2, 3, 7, 8].map((index) => rows.heightOf(index))).toEqual([10, 50, 5, 10]);
  });

  it("agrees with itself on every row of a hundred thousand", () => {
    const many = new RowPositions(
      100_000,
      36,
      Array.from({ length: 500 }, (_, i) => [i * 199, 20 + (i % 90)] as const),
    );

    for (let index = 0; index < many.count; index += 97) {
      const offset = many.offsetOf(index);
      expect(many.indexAt(offset)).toBe(index);
      expect(many.offsetOf(index + 1) - offset).toBe(many.heightOf(index));
    }
  });

  it("leaves out odd rows that are not in the list", () => {
    expect(
      new RowPositions(2, 10, [
        [-1, 90],
        [5, 90],
      ]).total,
    ).toBe(20);
  });

  it("may be empty", () => {
    expect([new RowPositions(0, 10).total, new RowPositions(0, 10).indexAt(50)]).toEqual([0, 0]);
  });
});

describe("rowsToDraw", () => {
  const rows = new RowPositions(1_000, 10);

  it("draws as many rows wherever it stands", () => {
    const lengths = [0, 95, 5_000, 9_990, 99_999]
      .map((top) => rowsToDraw(rows, top, 100, 5))
      .map(([from, to]) => to - from);

    expect(new Set(lengths)).toEqual(new Set([21]));
  });

  it("draws what is in sight and some on either side", () => {
    expect(rowsToDraw(rows, 5_000, 100, 5)).toEqual([495, 516]);
    expect(rowsToDraw(rows, 9_900, 100, 5)).toEqual([979, 1_000]);
  });

  it("draws no more than there is", () => {
    expect(rowsToDraw(new RowPositions(3, 10), 0, 100, 5)).toEqual([0, 3]);
  });
});

describe("standingIn", () => {
  const left = { standing: { run: "run-1", key: "turn-7", delta: 12 } };

  it("tells where a person left the list of this run", () => {
    expect(standingIn(left, "run-1")).toEqual({ key: "turn-7", delta: 12 });
  });

  it("tells nothing of another run, of a new step, or of what another version kept", () => {
    const others: unknown[] = [
      null,
      "x",
      {},
      { standing: 7 },
      { standing: { run: "run-1", key: 7, delta: "12" } },
    ];

    expect([
      standingIn(left, "run-2"),
      ...others.map((state) => standingIn(state, "run-1")),
    ]).toEqual([null, null, null, null, null, null]);
  });
});

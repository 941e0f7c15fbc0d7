import { describe, expect, it } from "vitest";
import type { Range } from "../../format/ranges";
import { TurnRows, type TurnRowsInput } from "./turnRows";
import type { Loop, Pin } from "./timeline";

const loop = (decision: string, from: number, to: number): Loop => ({
  decision,
  kind: "exact_repeat",
  from,
  to,
  open: true,
  title: "",
  detail: "",
});
const fix = {
  id: "fix-1",
  project: "p",
  run: "run-1",
  run_name: "r",
  decision: "d",
  text: "t",
  applied_at: "",
  delivered_at: null,
  recovered: null,
  judged_at: null,
  turns_after: 1,
  seq: null,
  kind: "same_error",
};
const pin = (key: string): Pin => ({ kind: "fix", key, at: "", fix });
const lines = (parts: TurnRowsInput) => {
  const rows = new TurnRows(parts);
  return Array.from({ length: rows.count }, (_, i) => {
    const slot = rows.at(i);
    return slot?.kind === "turn" ? slot.seq : slot?.key;
  });
};

describe("TurnRows", () => {
  it("is the turns in order", () => {
    expect(lines({ ranges: [[0, 3]] })).toEqual([0, 1, 2, 3]);
  });

  it("titles a loop before its first turn and keeps pins at their turn", () => {
    const ranges: Range[] = [[0, 4]];
    const parts = {
      ranges,
      loops: [loop("a", 2, 3)],
      pins: [
        { seq: 2, pin: pin("p") },
        { seq: 9, pin: pin("late") },
      ],
    };

    expect(lines(parts)).toEqual([0, 1, "p", "a", 2, 3, 4, "late"]);
  });

  it("leaves only the title of a folded loop", () => {
    expect(lines({ ranges: [[0, 4]], loops: [loop("a", 2, 3)], folded: new Set(["a"]) })).toEqual([
      0,
      1,
      "a",
      4,
    ]);
    expect(lines({ ranges: [[0, 4]], loops: [loop("a", 0, 4)], folded: new Set(["a"]) })).toEqual([
      "a",
    ]);
  });

  it("is newest first on a phone, without titles", () => {
    expect(
      lines({ ranges: [[0, 2]], loops: [loop("a", 1, 2)], titled: false, newestFirst: true }),
    ).toEqual([2, 1, 0]);
  });

  it("says to which loop a turn belongs", () => {
    const rows = new TurnRows({ ranges: [[0, 4]], loops: [loop("a", 1, 3), loop("b", 3, 3)] });

    expect(
      [0, 1, 3].map((seq) => {
        const slot = rows.at(rows.indexOf(seq));
        return slot?.kind === "turn" ? slot.loop?.decision : null;
      }),
    ).toEqual([undefined, "a", "b"]);
  });

  it("finds the line of each turn, or of the next that is here", () => {
    const rows = new TurnRows({
      ranges: [
        [2, 3],
        [7, 8],
      ],
      pins: [{ seq: 7, pin: pin("p") }],
    });

    expect([0, 2, 3, 5, 7, 8].map((seq) => rows.indexOf(seq))).toEqual([0, 0, 1, 3, 3, 4]);
    expect([rows.indexOf(9), rows.keyNear(5), rows.keyNear(9)]).toEqual([-1, "turn-7", "turn-9"]);
  });

  it("finds what has a key, in either order", () => {
    for (const newestFirst of [false, true]) {
      const rows = new TurnRows({
        ranges: [[0, 5]],
        pins: [{ seq: 3, pin: pin("p") }],
        newestFirst,
      });
      for (let i = 0; i < rows.count; i++) expect(rows.indexOfKey(rows.at(i)?.key ?? "")).toBe(i);
    }
    expect(new TurnRows({ ranges: [[0, 5]] }).indexOfKey("turn-9")).toBe(-1);
    expect(new TurnRows({ ranges: [[0, 5]] }).indexOfKey("gone")).toBe(-1);
  });

  it("has no line outside", () => {
    const rows = new TurnRows({ ranges: [[0, 1]] });

    expect([rows.at(-1), rows.at(2), new TurnRows({ ranges: [] }).at(0)]).toEqual([
      null,
      null,
      null,
    ]);
  });

  it("steps from turn to turn over what stands between", () => {
    const rows = new TurnRows({ ranges: [[0, 1]], pins: [{ seq: 1, pin: pin("p") }] });

    expect([rows.turnFrom(1, 1), rows.turnFrom(1, -1), rows.turnFrom(3, 1)]).toEqual([1, 0, null]);
  });

  it("holds a hundred thousand turns in a few pieces", () => {
    const ranges = Array.from({ length: 20_000 }, (_, i) => [i * 5, i * 5] as const);
    const rows = new TurnRows({ ranges });

    expect([rows.count, rows.indexOf(50_000), rows.at(10_000)]).toMatchObject([
      20_000,
      10_000,
      { seq: 50_000 },
    ]);
  });
});

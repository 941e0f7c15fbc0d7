import { describe, expect, it } from "vitest";
import { countOf, isIn, nthOf, rankOf, replaced, withSeq, type Range } from "./ranges";

describe("ranges", () => {
  const ranges: Range[] = [
    [2, 4],
    [7, 7],
  ];

  it("count, number and rank their turns", () => {
    expect(countOf(ranges)).toBe(4);
    expect([0, 2, 3, 4].map((n) => nthOf(ranges, n))).toEqual([2, 4, 7, null]);
    expect([0, 3, 6, 7, 9].map((seq) => rankOf(ranges, seq))).toEqual([0, 1, 3, 3, 4]);
  });

  it("know who is among them", () => {
    expect([1, 2, 4, 5, 7, 8].map((seq) => isIn(ranges, seq))).toEqual([
      false,
      true,
      true,
      false,
      true,
      false,
    ]);
    expect(isIn([], 0)).toBe(false);
  });

  it("take one turn more at its place", () => {
    expect(withSeq(ranges, 8)).toEqual([
      [2, 4],
      [7, 8],
    ]);
    expect(withSeq(ranges, 10)).toEqual([
      [2, 4],
      [7, 7],
      [10, 10],
    ]);
    expect(withSeq(ranges, 0)).toEqual([
      [0, 0],
      [2, 4],
      [7, 7],
    ]);
    expect(withSeq(withSeq(ranges, 5), 6)).toEqual([[2, 7]]);
    expect(withSeq(ranges, 3)).toBe(ranges);
    expect(withSeq([], 3)).toEqual([[3, 3]]);
  });

  it("take a stretch anew and keep what is around it", () => {
    expect(replaced(ranges, [3, 6], [[6, 6]])).toEqual([
      [2, 2],
      [6, 7],
    ]);
    expect(replaced([[0, 9]], [4, 5], [])).toEqual([
      [0, 3],
      [6, 9],
    ]);
    expect(replaced(ranges, [0, 9], [])).toEqual([]);
    expect(replaced([], [0, 9], [[1, 2]])).toEqual([[1, 2]]);
  });
});

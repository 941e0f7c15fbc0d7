import { describe, expect, it } from "vitest";
import { aDecision, anItem } from "../fixtures/rows";
import type { EvidenceTurn } from "../wire/types";
import { lastOf, pairOf, sameCalls, shortText, errorLines, isErrorLine } from "./evidence";

const evidence = (items: EvidenceTurn[]) => ({ ...aDecision().evidence, items });
const ran = (seq: number, call = "Bash ls") =>
  anItem({ seq, call, result: `result ${String(seq)}` });

describe("pairOf", () => {
  it("sets the first run of a call beside its last, not the held one", () => {
    const held = anItem({ seq: 4, call: "Bash ls", ran: false });
    const pair = pairOf(evidence([ran(1), ran(2), ran(3), held]));

    expect([pair?.left.seq, pair?.right.seq, pair?.comparable]).toEqual([1, 3, true]);
  });

  it("sets the last two calls of a circle beside each other", () => {
    const pair = pairOf(evidence([ran(2, "A"), ran(3, "B")]));

    expect([pair?.left.seq, pair?.right.seq, pair?.comparable]).toEqual([2, 3, false]);
  });

  it("has nothing to set beside a single run", () => {
    expect(pairOf(evidence([ran(1)]))).toBeNull();
    expect(lastOf(evidence([ran(1)]))?.seq).toBe(1);
    expect(lastOf(evidence([]))).toBeNull();
  });
});

it("keeps the head and the end of a long text", () => {
  const result = Array.from({ length: 40 }, (_, i) => `line ${String(i)}`).join("\n");

  expect(shortText(anItem({ result }), 6).split("\n")).toEqual([
    "line 0",
    "line 1",
    "…",
    "line 37",
    "line 38",
    "line 39",
  ]);
  expect(shortText(anItem({ error: "no\n\nfile" }))).toBe("no\nfile");
  expect(shortText(anItem({ error: "collecting\nE   NameError: x\n1 error" }))).toBe(
    "E NameError: x\n1 error",
  );
});

it("finds the lines that say what went wrong", () => {
  const linesOf = (result: string) => errorLines(anItem({ result }));

  expect(
    linesOf("ImportError while importing\nE   ModuleNotFoundError: x\n1 error in 0.4s"),
  ).toEqual(["E   ModuleNotFoundError: x"]);
  expect(linesOf("cat: x: No such file\nexit 1")).toEqual(["cat: x: No such file"]);
  expect(linesOf("one\ntwo\nthree")).toEqual(["two", "three"]);
});

it("names the other turns of the same call", () => {
  expect(sameCalls(evidence([ran(1), ran(2), ran(3, "other")]), ran(2))).toEqual([1]);
});

it("knows a line that tells of an error", () => {
  expect(["E   AssertionError", "cat: x: No such file", "3 passed"].map(isErrorLine)).toEqual([
    true,
    true,
    false,
  ]);
});

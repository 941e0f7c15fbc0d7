import { expect, test } from "vitest";
import type { AutofixRow } from "../../wire/types";
import { kindsOf, outcomeOf, recordOf, turnsAround } from "./autofixes";

function fix(change: Partial<AutofixRow>): AutofixRow {
  return {
    id: "a",
    project: "p",
    run: "r",
    run_name: "fix-auth",
    decision: "d",
    text: "Read app/auth.py.",
    applied_at: "2026-11-21T14:00:00Z",
    delivered_at: "2026-11-21T14:00:02Z",
    recovered: null,
    judged_at: null,
    turns_after: 0,
    kind: "same_error",
    seq: 2,
    ...change,
  };
}

test("only judged fixes count", () => {
  const rows = [fix({ recovered: true }), fix({ recovered: false }), fix({})];

  expect(recordOf(rows)).toEqual({ wentOn: 1, judged: 2, open: 1 });
});

test("each kind has its own record, the one most tried first, and none where nothing was judged", () => {
  const repeat = { kind: "exact_repeat" };
  const rows = [
    fix({ recovered: true }),
    fix({ ...repeat, recovered: true }),
    fix({ ...repeat, recovered: false }),
    fix({ kind: "stall" }),
  ];

  expect(kindsOf(rows)).toEqual([
    { kind: "exact_repeat", wentOn: 1, judged: 2, open: 0 },
    { kind: "same_error", wentOn: 1, judged: 1, open: 0 },
  ]);
});

test.each([
  [{ recovered: true, turns_after: 1 }, "recovered, judged after 1 turn"],
  [{ recovered: false }, "did not help"],
  [{}, "not judged yet"],
  [{ delivered_at: null }, "not delivered yet"],
])("%o reads %s", (change, words) => {
  expect(outcomeOf(fix(change))).toBe(words);
});

test("the three turns up to the answered one are shown, and three after it", () => {
  expect(turnsAround("r", 9)).toBe("runs/r/turns/?after_seq=6&limit=6");
  expect(turnsAround("r", 1)).toBe("runs/r/turns/?after_seq=-1&limit=5");
});

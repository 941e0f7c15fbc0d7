import { expect, test } from "vitest";
import { GAP_MS, Gaps } from "./gaps";
import { EMPTY, type LiveState } from "./reduce";

const waiting = (at: Record<string, number>): LiveState => ({
  ...EMPTY,
  seq: new Map(Object.entries(at)),
  early: new Map(Object.keys(at).map((run) => [run, { events: [], meters: [] }])),
});

test("a run that waits long enough for the same event is overdue", () => {
  const gaps = new Gaps();

  expect(gaps.overdue(waiting({ a: 3 }), 0)).toEqual([]);
  expect(gaps.overdue(waiting({ a: 3, b: 1 }), GAP_MS - 1)).toEqual([]);
  expect(gaps.overdue(waiting({ a: 3, b: 1 }), GAP_MS)).toEqual(["a"]);
});

test("a run that went on waits anew", () => {
  const gaps = new Gaps();
  gaps.overdue(waiting({ a: 3 }), 0);

  expect(gaps.overdue(waiting({ a: 5 }), GAP_MS)).toEqual([]);
});

test("a run that waited before, and has since, waits anew", () => {
  const gaps = new Gaps();
  gaps.overdue(waiting({ a: 3 }), 0);
  gaps.overdue(EMPTY, 1);

  expect(gaps.overdue(waiting({ a: 3 }), GAP_MS)).toEqual([]);
});

import { expect, it } from "vitest";
import { aRun, NOON } from "../fixtures/rows";
import { isToday, totalsOf } from "./money";

it("adds up agents and judge, and says what has no price", () => {
  const runs = [aRun({ judge_cost_usd: "0.09" }), aRun({ cost_usd: "0", unpriced_calls: 2, status: "completed" })];

  expect(totalsOf(runs, new Date(NOON))).toEqual({ cost: 2.4, burn: 5.8, unpriced: 1, reported: true });
  expect(totalsOf([], new Date(NOON)).reported).toBe(false);
});

it("knows what started today here", () => {
  const now = new Date(2026, 10, 21, 1);
  const started = (hour: number) => aRun({ started_at: new Date(2026, 10, 21, hour).toISOString() });

  expect([isToday(started(0), now), isToday(started(-1), now)]).toEqual([true, false]);
});

import { expect, it } from "vitest";
import { aRun, NOON } from "../fixtures/rows";
import { burnOfAll, isToday } from "./money";

it("adds up what the live runs burn", () => {
  const runs = [aRun(), aRun({ burn_usd_per_hour: "1.20" }), aRun({ status: "completed" })];

  expect(burnOfAll(runs, new Date(NOON))).toBeCloseTo(7);
});

it("knows what started today here", () => {
  const now = new Date(2026, 10, 21, 1);
  const started = (hour: number) => aRun({ started_at: new Date(2026, 10, 21, hour).toISOString() });

  expect([isToday(started(0), now), isToday(started(-1), now)]).toEqual([true, false]);
});

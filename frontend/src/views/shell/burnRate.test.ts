import { expect, it } from "vitest";
import { aRun, NOON } from "../../fixtures/rows";
import { burnOfAll, endedToday } from "./burnRate";

it("adds up what the live runs burn", () => {
  const runs = [aRun(), aRun({ burn_usd_per_hour: "1.20" }), aRun({ status: "completed" })];

  expect(burnOfAll(runs, new Date(NOON))).toBeCloseTo(7);
});

it("knows what ended today here, whenever it began", () => {
  const now = new Date(2026, 10, 21, 1);
  const at = (hour: number) => new Date(2026, 10, 21, hour).toISOString();
  const ended = (hour: number) => aRun({ started_at: at(-30), ended_at: at(hour) });

  expect([endedToday(ended(0), now), endedToday(ended(-1), now)]).toEqual([true, false]);
  expect(endedToday(aRun({ started_at: at(0) }), now)).toBe(false);
});

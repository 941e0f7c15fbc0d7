import { expect, test } from "vitest";
import type { CostRow } from "../wire/types";
import { changeWords, dailyBars, dateIn, midnight, spanOf, sumOf } from "./costs";

const NONE = { input: 0, cache_read: 0, cache_write_5m: 0, cache_write_1h: 0, output: 0, reasoning: 0 };

function row(key: string, cost: string, change: Partial<CostRow> = {}): CostRow {
  return {
    project: "p", key, name: key, calls: 1, unpriced_calls: 0, usage: NONE, cost_usd: cost,
    judge_calls: 0, judge_cost_usd: "0", ...change,
  };
}

test("the judge stands apart and in the total", () => {
  const rows = [row("coder", "1.50"), row("critic", "0.25", { judge_cost_usd: "0.25", judge_calls: 2, unpriced_calls: 1 })];

  expect(sumOf(rows)).toEqual({ total: 2, agents: 1.75, judge: 0.25, calls: 4, unpriced: 1 });
});

test.each([
  ["Europe/Berlin", "2026-11-21T14:41:00Z", "2026-11-20T23:00:00.000Z"],
  ["Europe/Berlin", "2026-10-25T14:41:00Z", "2026-10-24T22:00:00.000Z"], // clocks went back that night
  ["Europe/Berlin", "2026-03-29T14:41:00Z", "2026-03-28T23:00:00.000Z"], // and forward
  ["Asia/Kolkata", "2026-11-21T20:00:00Z", "2026-11-21T18:30:00.000Z"],
  ["UTC", "2026-11-21T00:00:00Z", "2026-11-21T00:00:00.000Z"],
])("in %s the day of %s began at %s", (zone, at, began) => {
  expect(midnight(new Date(at), zone).toISOString()).toBe(began);
});

test("a day is compared with the same day a week before, up to the same hour", () => {
  const { since, before, until } = spanOf("day", new Date("2026-11-21T14:00:00Z"), "UTC");

  expect([since, before, until].map((at) => at.toISOString())).toEqual([
    "2026-11-21T00:00:00.000Z", "2026-11-14T00:00:00.000Z", "2026-11-14T14:00:00.000Z",
  ]);
});

test("seven days end today", () => {
  const { since, before } = spanOf("week", new Date("2026-11-21T14:00:00Z"), "UTC");

  expect(dateIn(since, "UTC")).toBe("2026-11-15");
  expect(dateIn(before, "UTC")).toBe("2026-11-08");
});

test.each([
  [11, 10, "+10%"],
  [8.9, 10, "\u221211%"],
  [10, 10, "as much"],
  [5, 0, ""],
])("%d after %d reads %s", (total, before, words) => {
  expect(changeWords(total, before)).toBe(words);
});

test("every day has its bar, with several projects in one", () => {
  const bars = dailyBars([row("2026-11-21", "1"), row("2026-11-21", "2"), row("2026-11-19", "4")], new Date("2026-11-21T12:00:00Z"), "UTC", 3);

  expect(bars).toEqual([{ day: "2026-11-19", cost: 4 }, { day: "2026-11-20", cost: 0 }, { day: "2026-11-21", cost: 3 }]);
});

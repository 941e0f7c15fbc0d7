import { expect, it } from "vitest";
import { aRun, NOON, PROJECT } from "../fixtures/rows";
import type { RunRow, TodayRow } from "../wire/types";
import { answerOf, isSettled, moved, todayOf } from "./costToday";

const now = new Date(NOON);
const MIDNIGHT = "2026-11-22T00:00:00Z";
const budget = (usd: string) => ({ ceiling_usd: usd, extra_usd: "0", left_usd: usd });

function aRow(change: Partial<TodayRow> = {}): TodayRow {
  return {
    project: PROJECT,
    day: "2026-11-21",
    time_zone: "UTC",
    at: NOON,
    until: MIDNIGHT,
    spent_usd: "27.64",
    counted: {},
    calls: 9,
    unpriced_calls: 0,
    budget: budget("60"),
    ...change,
  };
}

const answered = (rows: TodayRow[], ...runs: RunRow[]) => answerOf(rows, runs);

it("tells what was spent of the day's budget", () => {
  expect(todayOf(answered([aRow()]), [], now)).toEqual({
    usd: 27.64,
    ceiling: 60,
    calls: 9,
    unpriced: 0,
    zones: ["UTC"],
  });
});

it("adds what the meters say was spent since the server answered, the judge's too", () => {
  const before = aRun({ cost_usd: "2.31" });
  const spent = answered([aRow({ spent_usd: "10" })], before);

  expect(
    todayOf(spent, [{ ...before, cost_usd: "2.56", judge_cost_usd: "0.05" }], now)?.usd,
  ).toBeCloseTo(10.3);
  expect(moved(spent, [before])).toBe(0);
});

it("counts a run that began after the answer, and nothing of an older one that comes into sight", () => {
  const young = aRun({ id: "young", cost_usd: "0.40", started_at: "2026-11-21T12:00:01Z" });
  const old = aRun({ id: "old", cost_usd: "8.00", started_at: "2026-11-20T12:00:00Z" });

  expect(moved(answered([aRow()]), [young, old])).toBe(0.4);
});

it("counts a run's first cost once, whether its meters come after the answer or before", () => {
  const run = aRun({ cost_usd: "0.03" });
  const before = aRun({ cost_usd: "0" });
  const late = answered([aRow({ spent_usd: "0.03", counted: { [run.id]: "0.03" } })], before);
  const early = answered([aRow({ spent_usd: "0", counted: { [run.id]: "0" } })], run);

  expect(todayOf(late, [before], now)?.usd).toBe(0.03);
  expect(isSettled(late, [before], now)).toBe(false);
  expect(todayOf(late, [run], now)?.usd).toBe(0.03);
  expect(isSettled(late, [run], now)).toBe(true);
  expect(todayOf(early, [run], now)?.usd).toBe(0.03);
});

it("keeps what a run had spent when it leaves the screen", () => {
  expect(moved(answered([aRow()], aRun()), [])).toBe(0);
});

it("says nothing of a day that is over", () => {
  expect(todayOf(answered([aRow()]), [], new Date(MIDNIGHT))).toBeNull();
  expect(todayOf(answered([]), [], now)).toBeNull();
});

it("adds projects up, and has a budget only where each of them has one", () => {
  const both = [
    aRow(),
    aRow({ spent_usd: "2.36", budget: budget("40"), time_zone: "Asia/Tokyo", unpriced_calls: 2 }),
  ];

  expect(todayOf(answered(both), [], now)).toMatchObject({
    usd: 30,
    ceiling: 100,
    unpriced: 2,
    zones: ["UTC", "Asia/Tokyo"],
  });
  expect(todayOf(answered([aRow(), aRow({ budget: null })]), [], now)?.ceiling).toBeNull();
});

it("is settled while nothing moved, no run came into sight and the day lasts", () => {
  const answer = answered([aRow()], aRun());

  expect(isSettled(answer, [aRun()], now)).toBe(true);
  expect(isSettled(answer, [aRun({ cost_usd: "2.32" })], now)).toBe(false);
  expect(
    isSettled(answer, [aRun(), aRun({ id: "old", started_at: "2026-11-20T12:00:00Z" })], now),
  ).toBe(false);
  expect(isSettled(answer, [aRun()], new Date(MIDNIGHT))).toBe(false);
});

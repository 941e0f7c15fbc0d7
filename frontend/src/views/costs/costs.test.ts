import { expect, test } from "vitest";
import type { CostAccount, CostGroup } from "../../wire/types";
import {
  addressOf,
  costQueryOf,
  barLines,
  changeOf,
  colorsOf,
  dayOf,
  isUnpriced,
  noonOf,
  paceLines,
  paceOf,
  sparkOf,
  stepFrom,
} from "./costs";
import { changeWords, clockAt, isSteep, savedWords, ticksOf, xWords } from "./costWords";

const NONE = {
  input: 0,
  cache_read: 0,
  cache_write_5m: 0,
  cache_write_1h: 0,
  output: 0,
  reasoning: 0,
};
const SAVED = {
  low_usd: null,
  likely_usd: null,
  high_usd: null,
  stops: 0,
  unpriced_stops: 0,
  samples: 0,
  enough: 5,
  median_turns: null,
};
const SUM = {
  total_usd: "12",
  agents_usd: "12",
  judge_usd: "0",
  calls: 1,
  judge_calls: 0,
  unpriced_calls: 0,
  runs: 1,
  loops: 0,
  stops: 0,
};

function account(change: Partial<CostAccount> = {}): CostAccount {
  return {
    projects: ["p"],
    range: "day",
    first_day: "2026-11-21",
    last_day: "2026-11-21",
    time_zone: "UTC",
    at: "2026-11-21T12:00:00Z",
    since: "2026-11-21T00:00:00Z",
    over: false,
    minutes: 1440,
    minute: 720,
    spent: SUM,
    before: SUM,
    before_by_then_usd: "10",
    before_day: "2026-11-14",
    budget: null,
    saved: SAVED,
    points: [],
    days: [],
    group_by: "agent",
    groups: [],
    groups_left_out: 0,
    ...change,
  };
}

function row(change: Partial<CostGroup> = {}): CostGroup {
  return {
    key: "coder",
    name: "coder",
    calls: 1,
    judge_calls: 0,
    unpriced_calls: 0,
    unpriced_models: [],
    usage: NONE,
    cost_usd: "1",
    judge_cost_usd: "0",
    before_usd: "0",
    runs: 1,
    loops: 0,
    trend: [],
    saved: SAVED,
    ...change,
  };
}

test("the address says what is asked for, and only that", () => {
  const asked = costQueryOf(new URLSearchParams("range=week&by=model&day=2026-11-21&agent=coder"));

  expect(asked).toEqual({
    range: "week",
    group: "model",
    day: "2026-11-21",
    agent: "coder",
    model: "",
  });
  expect(costQueryOf(new URLSearchParams(addressOf(asked)))).toEqual(asked);
  expect(
    Object.values(addressOf(costQueryOf(new URLSearchParams("range=year&by=planet")))).filter(
      Boolean,
    ),
  ).toEqual([]);
});

test.each([
  ["2026-03-01", -1, "2026-02-28"],
  ["2026-10-25", 1, "2026-10-26"],
  ["2026-12-31", 1, "2027-01-01"],
])("%s moved by %d is %s", (day, shift, then) => {
  expect(dayOf(noonOf(day, shift))).toBe(then);
});

test("the step before a week is in the week before", () => {
  const week = account({ range: "week", first_day: "2026-11-16", last_day: "2026-11-22" });

  expect([stepFrom(week, -1), stepFrom(week, 1)]).toEqual(["2026-11-15", "2026-11-23"]);
});

test("half a day's money leads to twice as much, and nothing leads nowhere", () => {
  expect(paceOf(account())).toBe(24);
  expect(paceOf(account({ minute: 59 }))).toBeNull();
  expect(paceOf(account({ over: true }))).toBeNull();
  expect(paceOf(account({ spent: { ...SUM, total_usd: "0" } }))).toBeNull();
});

test("the way to the end begins where the money is now", () => {
  const points = [0, 720, 1440].map((minute) => ({
    minute,
    spent_usd: minute > 720 ? null : String(minute / 60),
    before_usd: "1",
  }));
  const { lines, tags } = paceLines(account({ points }), {
    now: "today",
    before: "before",
    at: String,
    pace: String,
  });

  expect(lines.map(({ values }) => values)).toEqual([
    [1, 1, 1],
    [0, 12, null],
    [null, 12, 24],
  ]);
  expect(tags.map(({ words }) => words)).toEqual(["12", "24"]);
});

test.each([
  [200, "left"],
  [720, "right"],
  [1300, "right"],
])("at minute %i what is spent is written %s of its end", (minute, side) => {
  const { tags } = paceLines(account({ minute }), {
    now: "today",
    before: "before",
    at: String,
    pace: String,
  });

  expect(tags[0]?.align).toBe(side);
});

test("hours are written by the clock on a day of 25", () => {
  expect(ticksOf(account())).toEqual([0, 360, 720, 1080, 1440]);
  expect(ticksOf(account({ minutes: 1500 }))).toEqual([0, 420, 780, 1140, 1500]);
  expect(ticksOf(account({ range: "week", minutes: 10080 }))).toHaveLength(7);
});

test.each([
  ["Europe/Berlin", "2026-09-30T22:00:00Z", 31 * 1440 + 60, "Oct"],
  ["America/New_York", "2026-11-01T04:00:00Z", 30 * 1440 + 60, "Nov"],
  ["America/New_York", "2026-03-01T05:00:00Z", 31 * 1440 - 60, "Mar"],
  ["Pacific/Chatham", "2026-03-31T10:15:00Z", 30 * 1440 + 60, "Apr"],
])("days begin at midnight of %s after its clocks changed", (time_zone, since, minutes, month) => {
  const spent = account({ range: "month", time_zone, since, minutes });

  const ticks = ticksOf(spent);

  expect(ticks.map((minute) => clockAt(spent, minute))).toEqual(ticks.map(() => "00:00"));
  expect(ticks.map((minute) => xWords(spent, minute))).toEqual(
    [1, 8, 15, 22, 29].map((day) => `${String(day)} ${month}`),
  );
  expect(xWords(spent, 28 * 1440 + 480)).toMatch(/:/);
});

test.each([
  ["America/Santiago", "2026-08-31T04:00:00Z"],
  ["America/Havana", "2026-03-02T05:00:00Z"],
])("a day of %s that begins at one is marked there", (time_zone, since) => {
  const spent = account({ range: "week", time_zone, since, minutes: 7 * 1440 - 60 });

  expect(ticksOf(spent).map((minute) => xWords(spent, minute))).toEqual([
    "Mon",
    "Tue",
    "Wed",
    "Thu",
    "Fri",
    "Sat",
    "Sun 01:00",
  ]);
});

test("the four dearest agents have a colour each, the others share the fifth", () => {
  const agents = Object.fromEntries(
    ["a", "b", "c", "d", "e", "f"].map((name, i) => [name, String(10 - i)]),
  );
  const days = [{ day: "2026-11-21", agents: { ...agents, free: "0" }, total_usd: "45" }];
  const colors = colorsOf(days);
  const lines = barLines(days, colors, (names) => names.join("+"));

  expect([colors.get("a"), colors.get("f"), colors.get("free")]).toEqual([
    "--d1",
    "--d5",
    undefined,
  ]);
  expect(lines.map(({ label, values }) => [label, values[0]])).toEqual([
    ["a", 10],
    ["b", 9],
    ["c", 8],
    ["d", 7],
    ["e+f", 11],
  ]);
});

test("a change is told with a true minus, and not of nothing, or of what has no price", () => {
  expect([
    changeWords(8.9, 10, 0),
    changeWords(11, 10, 0),
    changeWords(10, 10, 3),
    changeWords(5, 0, 0),
    changeWords(0, 10, 3),
  ]).toEqual(["\u221211%", "+10%", "no change", "", ""]);
  expect([isSteep(12.6, 10), isSteep(12.5, 10), isSteep(9, 0)]).toEqual([true, false, false]);
  expect(changeOf(5, 0.001)).toBeNull();
});

test("calls without a price are a word, with a price on some the sum stands", () => {
  expect(isUnpriced(row({ cost_usd: "0", unpriced_calls: 2 }))).toBe(true);
  expect(isUnpriced(row({ cost_usd: "0.5", unpriced_calls: 2 }))).toBe(false);
  expect(isUnpriced(row({ cost_usd: "0" }))).toBe(false);
});

test("what stops saved is an estimate or said to be none", () => {
  expect(savedWords({ ...SAVED, stops: 0, likely_usd: "0" })).toBe("—");
  expect(savedWords({ ...SAVED, stops: 2 })).toBe("no estimate yet");
  expect(savedWords({ ...SAVED, stops: 2, likely_usd: "11.3" })).toBe("≈ $11.30");
});

test("a spark line reaches its top where most loops were", () => {
  expect(sparkOf([0, 2, 1], 2, 20, 22)).toBe("0.0,20.0 10.0,2.0 20.0,11.0");
});

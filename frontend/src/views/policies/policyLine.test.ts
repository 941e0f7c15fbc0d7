import { describe, expect, it } from "vitest";
import german from "../../messages/de/policies";
import type { BacktestRow, RunScore } from "../../wire/types";
import {
  asksAbout,
  differencesOf,
  heightOf,
  patienceOf,
  reaching,
  reachOf,
  replayedDifferences,
  replaySeconds,
  savedMore,
  sensitivityAt,
  tallyOf,
  turnsEarlier,
} from "./policyLine";

const scored = (run: string, score: number | null, change: Partial<RunScore> = {}): RunScore => ({
  run,
  run_name: run,
  started_at: "",
  score,
  turn: 3,
  outcome: "unasked",
  rule: null,
  ...change,
});
type Run = BacktestRow["runs"][number];
const flag = (alarm_turn: number) => ({
  alarm_turn,
  stop_turn: null,
  detector: "stall",
  kind: "stall",
  summary: "It stands still.",
  turns_after: 1,
  cost_after_usd: null,
});
const replayed = (run: string, proposed: number | null, today: number | null): Run => ({
  run,
  run_name: run,
  agent: "",
  started_at: "",
  turns: 9,
  label: null,
  differs: true,
  proposed: proposed === null ? null : flag(proposed),
  today: today === null ? null : flag(today),
});
const side = {
  flagged: 0,
  stopped: 0,
  loops_found: 0,
  healthy_flagged: 0,
  turns_after: 0,
  cost_after_usd: null,
  detectors: {},
};
const backtest = (change: Partial<BacktestRow>): BacktestRow => ({
  id: "b",
  project: "p",
  status: "done",
  since: null,
  total: 9,
  done: 9,
  left_out: 0,
  turns: 90,
  error: null,
  by: "Ana",
  at: "2026-11-21T12:00:00Z",
  finished_at: "2026-11-21T12:00:04.2Z",
  policy: {},
  today_policy: {},
  today_version: 7,
  loops: 0,
  healthy: 0,
  proposed: side,
  today: side,
  runs: [],
  ...change,
});

describe("a line", () => {
  const runs = [
    scored("looped", 0.9, { outcome: "corrected" }),
    scored("let-go", 0.75, { outcome: "continued" }),
    scored("by-rule", 0.1, { outcome: "continued", rule: "exact_repeat" }),
    scored("quiet", 0.2),
    scored("old", null),
  ];

  it("asks about what reaches it, and about what a rule asks anyway", () => {
    expect(runs.filter((run) => asksAbout(run, 0.75)).map(({ run }) => run)).toEqual([
      "looped",
      "let-go",
      "by-rule",
    ]);
    expect(runs.filter((run) => asksAbout(run, null)).map(({ run }) => run)).toEqual(["by-rule"]);
  });

  it("counts how often, and how often people let it go on", () => {
    expect(tallyOf(runs, 0.8)).toEqual({ asked: 2, continued: 1, byLimits: 1 });
    expect(tallyOf(runs, 0.7)).toEqual({ asked: 3, continued: 2, byLimits: 1 });
    expect(tallyOf(runs, null)).toEqual({ asked: 1, continued: 1, byLimits: null });
  });

  it("adds what lies between it and today's, and drops it when it rises", () => {
    const added = differencesOf(runs, 0.8, 0.7);
    expect(added.map(({ run, adds }) => [run, adds])).toEqual([["let-go", true]]);
    expect(differencesOf(runs, 0.8, 0.95).map(({ run, adds }) => [run, adds])).toEqual([
      ["looped", false],
    ]);
    expect(differencesOf(runs, 0.8, 0.8)).toEqual([]);
    expect(differencesOf(runs, 0.95, 0.1).map(({ run }) => run)).toEqual([
      "looped",
      "let-go",
      "quiet",
    ]);
  });

  it("lies higher where more repeats are allowed", () => {
    const patience = patienceOf({ sensitivity: 0.9, asks_from: 0.954, today: 0.8 });

    expect(patience).toBeCloseTo(4 / 3, 1);
    expect(heightOf(0.9, 4 / 3)).toBeCloseTo(0.954, 3);
    expect(heightOf(sensitivityAt(0.7, 4 / 3), 4 / 3)).toBeCloseTo(0.7, 2);
    expect(patienceOf({ sensitivity: 0.9, asks_from: null, today: null })).toBe(1);
  });

  it("stays where a sensitivity can put it", () => {
    expect([sensitivityAt(0.2, 1), sensitivityAt(0.7249, 1), sensitivityAt(1, 1)]).toEqual([
      0.5, 0.72, 0.99,
    ]);
    expect(reachOf(1)).toEqual([0.5, 0.99]);
  });
});

describe("a replay", () => {
  it("tells what the draft adds or drops, and why", () => {
    const row = backtest({
      runs: [replayed("more", 3, null), replayed("less", null, 4), replayed("both", 2, 5)],
    });

    expect(replayedDifferences(row, [scored("more", 0.76, { outcome: "continued" })])).toEqual([
      {
        run: "more",
        name: "more",
        score: 0.76,
        outcome: "continued",
        adds: true,
        summary: "It stands still.",
      },
      {
        run: "less",
        name: "less",
        score: null,
        outcome: "unasked",
        adds: false,
        summary: "It stands still.",
      },
    ]);
  });

  it("says how much earlier the draft asks, where both do", () => {
    expect(
      turnsEarlier(
        backtest({ runs: [replayed("a", 2, 5), replayed("b", 4, 4), replayed("c", 1, null)] }),
      ),
    ).toBe(3);
    expect(turnsEarlier(backtest({ runs: [replayed("a", 4, 4)] }))).toBe(0);
  });

  it("says what more it would have saved, and how long it took", () => {
    const cost = (amount: string | null) => ({ ...side, cost_after_usd: amount });
    expect(savedMore(backtest({ proposed: cost("8.40"), today: cost("2.00") }))).toBeCloseTo(6.4);
    expect(savedMore(backtest({ proposed: cost("8.40") }))).toBeCloseTo(8.4);
    expect([
      savedMore(backtest({})),
      savedMore(backtest({ proposed: cost("1"), today: cost("2") })),
    ]).toEqual([null, null]);
    expect([replaySeconds(backtest({})), replaySeconds(backtest({ finished_at: null }))]).toEqual([
      4,
      null,
    ]);
  });
});

it("counts for a preset the runs that reached its line, not those that today's limits asked about", () => {
  const runs = [scored("far", 0.97), scored("asked by a limit", 0.62, { rule: "repeat" })];

  expect([reaching(runs, 0.95), reaching(runs, 0.5)]).toEqual([1, 2]);
  expect(reaching([scored("unknown", null)], 0)).toBe(0);
});

it("says in German how many runs reached a line, one or several", () => {
  expect([german.reach(1, 30, "0,80"), german.reach(2, 30, "0,80")]).toEqual([
    "1 von 30 Läufen mit Wert ab 0,80",
    "2 von 30 Läufen mit Wert ab 0,80",
  ]);
});

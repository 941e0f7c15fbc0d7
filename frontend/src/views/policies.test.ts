import { describe, expect, it } from "vitest";
import type { BacktestRow, PolicyRule } from "../wire/types";
import { differenceOf, groupsOf, ladderOf, otherProblems, presetOf, problemOf, sameDraft, sentenceOf, shownValue, unitOf, withLadder, withPreset, withRule } from "./policies";

const rule = (change: Partial<PolicyRule> = {}): PolicyRule => ({
  section: "exact_repeat", field: "repeats", value: 3, today: 3, on: true, ...change,
});
type Side = BacktestRow["today"];
const side = (change: Partial<Side> = {}): Side => ({
  flagged: 0, stopped: 0, loops_found: 0, healthy_flagged: 0, turns_after: 0, cost_after_usd: null,
  detectors: {}, ...change,
});
const backtest = (change: Partial<BacktestRow> = {}): BacktestRow => ({
  id: "b", project: "p", status: "done", since: null, total: 9, done: 9, left_out: 0, turns: 90,
  error: null, by: "Ana", at: "", finished_at: "", policy: {}, today_policy: {}, today_version: 7,
  loops: 0, healthy: 0, proposed: side(), today: side(), runs: [], ...change,
});
const flag = (alarm_turn: number, stop_turn: number | null = null) => ({
  alarm_turn, stop_turn, detector: "exact_repeat", kind: "exact_repeat", summary: "", turns_after: 1,
  cost_after_usd: null,
});
const run = (proposed: ReturnType<typeof flag> | null, today: ReturnType<typeof flag> | null): BacktestRow["runs"][number] => ({
  run: "r", run_name: "r", agent: "", started_at: "", turns: 9, proposed, today, label: null, differs: true,
});

describe("a draft", () => {
  it("takes a number where one is typed, and keeps what is none for the check to refuse", () => {
    expect(withRule({}, "exact_repeat", "repeats", " 5 ")).toEqual({ exact_repeat: { repeats: 5 } });
    expect(withRule({ exact_repeat: { polls: 9 } }, "exact_repeat", "repeats", "many")).toEqual({
      exact_repeat: { polls: 9, repeats: "many" },
    });
    expect(withRule({}, "a", "b", "")).toEqual({ a: { b: "" } });
    expect(withRule({}, "judge", "suspicions", "false")).toEqual({ judge: { suspicions: false } });
  });

  it("shows what was typed before what is in force", () => {
    expect(shownValue({}, rule())).toBe("3");
    expect(shownValue({ exact_repeat: { repeats: 5 } }, rule())).toBe("5");
    expect(shownValue("[exact_repeat]", rule({ value: 4 }))).toBe("4");
    expect(shownValue({}, rule({ value: ["a", "b"] }))).toBe("a, b");
    expect(shownValue({}, rule({ value: null }))).toBe("");
  });

  it("sets the ladder beside what stands there", () => {
    const draft = withLadder({ ladder: { every: { nudge: "tell" }, stall: { trip: "stop" } } }, "trip", "observe");
    expect(draft).toEqual({ ladder: { every: { nudge: "tell", trip: "observe" }, stall: { trip: "stop" } } });
    expect(ladderOf(draft, "trip")).toBe("observe");
    expect(ladderOf({}, "trip")).toBeNull();
    expect(ladderOf({ ladder: [] }, "trip")).toBeNull();
  });

  it("starts from a preset and keeps the tables for some runs only", () => {
    const tool = { Bash: { retry: "poll" } };
    expect(withPreset({ exact_repeat: { repeats: 9 }, tool }, "strict")).toEqual({ extends: "strict", tool });
    expect([presetOf({}), presetOf({ extends: "strict" }), presetOf("text"), presetOf({ preset: "ralph" })]).toEqual(["balanced", "strict", "balanced", "ralph"]);
  });

  it("is the same as another that says the same", () => {
    expect(sameDraft({ a: 1 }, { a: 1 })).toBe(true);
    expect(sameDraft("a = 1", { a: 1 })).toBe(false);
  });
});

describe("the form", () => {
  it("groups rules by detector, those that look first", () => {
    const groups = groupsOf([rule({ section: "ping_pong", on: false }), rule(), rule({ field: "polls" })]);
    expect(groups.map(({ words, rules }) => [words, rules.length])).toEqual([["Exact repeat", 2], ["Ping-pong", 1]]);
  });

  it("names a unit, or the field as words", () => {
    expect([unitOf("threshold"), unitOf("some_day")]).toEqual(["similarity", "some day"]);
  });

  it("tells the problems of its fields from those of none", () => {
    const problems = ["exact_repeat.repeats", "tool.Bash.retry"].map((field) => ({ field, expected: "", got: "" }));
    expect(problemOf(problems, rule())?.field).toBe("exact_repeat.repeats");
    expect(problemOf(problems, rule({ field: "polls" }))).toBeNull();
    expect(otherProblems(problems, [rule()]).map(({ field }) => field)).toEqual(["tool.Bash.retry"]);
  });
});

describe("a backtest", () => {
  it.each([
    [backtest({ status: "running", done: 3 }), "Replaying: 3 of 9 runs."],
    [backtest({ status: "failed" }), "The backtest failed."],
    [backtest({ total: 0 }), "No run was recorded in this time."],
    [backtest(), "The draft flags as many runs as today."],
    [backtest({ proposed: side({ flagged: 1 }) }), "The draft flags 1 more run."],
    [backtest({ today: side({ flagged: 2 }) }), "The draft flags 2 fewer runs."],
    [backtest({ proposed: side({ loops_found: 3 }) }), "The draft finds 3 more loops."],
    [backtest({ today: side({ healthy_flagged: 1 }) }), "The draft flags 1 fewer healthy run."],
    [backtest({ proposed: side({ loops_found: 3, healthy_flagged: 1 }) }), "The draft finds 3 more loops and flags 1 more healthy run."],
  ])("says first what would be otherwise", (row, sentence) => {
    expect(sentenceOf(row)).toBe(sentence);
  });

  it.each([
    [run(flag(4), null), "flagged at turn 5, not today"],
    [run(null, flag(4)), "no longer flagged at turn 5"],
    [run(flag(2), flag(4)), "turn 3 instead of 5"],
    [run(flag(2, 5), flag(2)), "ended by the policy"],
    [run(flag(2), flag(2)), "same turn, exact repeat"],
    [run(null, null), ""],
  ])("says how one run would go otherwise", (row, words) => {
    expect(differenceOf(row)).toBe(words);
  });
});

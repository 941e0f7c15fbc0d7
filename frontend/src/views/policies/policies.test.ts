import { describe, expect, it } from "vitest";
import type { PolicyRule } from "../../wire/types";
import {
  advancedChanges,
  groupsOf,
  kindOf,
  ladderOf,
  LIMITS,
  otherProblems,
  presetOf,
  problemOf,
  rebased,
  sameDraft,
  sensitivityOf,
  shownValue,
  unitOf,
  withLadder,
  withPreset,
  withRule,
  withSensitivity,
} from "./policies";

const rule = (change: Partial<PolicyRule> = {}): PolicyRule => ({
  section: "repeat",
  field: "calls",
  value: 3,
  today: 3,
  on: true,
  ...change,
});

describe("a draft", () => {
  it("stands on top of what somebody else saved meanwhile, and takes nothing of it back", () => {
    const base = { repeat: { calls: 3, polls: 9 }, budget: { usd: "5" }, sensitivity: 0.8 };
    const mine = { repeat: { calls: 3, polls: 8 }, budget: {}, sensitivity: 0.7 };
    const theirs = { repeat: { calls: 4, polls: 9 }, budget: { usd: "5" }, tool: { Bash: {} } };

    expect(rebased(base, mine, theirs)).toEqual({
      repeat: { calls: 4, polls: 8 },
      budget: {},
      tool: { Bash: {} },
      sensitivity: 0.7,
    });
  });
  it("keeps its own where both changed the same, and begins a table that only it has", () => {
    expect(rebased({ a: 1 }, { a: 2, b: { c: 1 } }, { a: 3 })).toEqual({ a: 2, b: { c: 1 } });
  });
  it("takes a number where one is typed, and keeps what is none for the check to refuse", () => {
    expect(withRule({}, "repeat", "calls", " 5 ")).toEqual({ repeat: { calls: 5 } });
    expect(withRule({ repeat: { polls: 9 } }, "repeat", "calls", "many")).toEqual({
      repeat: { polls: 9, calls: "many" },
    });
    expect(withRule({}, "a", "b", "")).toEqual({ a: { b: "" } });
    expect(withRule({}, "judge", "suspicions", "false")).toEqual({ judge: { suspicions: false } });
  });

  it("keeps a budget as it is typed, and none where nothing is", () => {
    expect(withRule({}, "budget", "usd", "8.50")).toEqual({ budget: { usd: "8.50" } });
    expect(withRule({ budget: { usd: "8", turns: 40 } }, "budget", "usd", " ")).toEqual({
      budget: { turns: 40 },
    });
  });

  it("has its line where its sensitivity puts it", () => {
    expect(sensitivityOf(withSensitivity({ extends: "strict" }, 0.72))).toBe(0.72);
    expect([
      sensitivityOf({}),
      sensitivityOf("sensitivity = 0.7"),
      sensitivityOf({ sensitivity: "x" }),
    ]).toEqual([null, null, null]);
  });

  it("shows what was typed before what is in force", () => {
    expect(shownValue({}, rule())).toBe("3");
    expect(shownValue({ repeat: { calls: 5 } }, rule())).toBe("5");
    expect(shownValue("[repeat]", rule({ value: 4 }))).toBe("4");
    expect(shownValue({}, rule({ value: ["a", "b"] }))).toBe("a, b");
    expect(shownValue({}, rule({ value: null }))).toBe("");
  });

  it("sets the ladder beside what stands there", () => {
    const draft = withLadder(
      { ladder: { every: { nudge: "tell" }, stall: { trip: "stop" } } },
      "trip",
      "observe",
    );
    expect(draft).toEqual({
      ladder: { every: { nudge: "tell", trip: "observe" }, stall: { trip: "stop" } },
    });
    expect(ladderOf(draft, "trip")).toBe("observe");
    expect(ladderOf({}, "trip")).toBeNull();
    expect(ladderOf({ ladder: [] }, "trip")).toBeNull();
  });

  it("starts from a preset and keeps the tables for some runs only", () => {
    const tool = { Bash: { retry: "poll" } };
    expect(withPreset({ repeat: { calls: 9 }, tool }, "strict")).toEqual({
      extends: "strict",
      tool,
    });
    expect([
      presetOf({}),
      presetOf({ extends: "strict" }),
      presetOf("text"),
      presetOf({ preset: "ralph" }),
    ]).toEqual(["balanced", "strict", "balanced", "ralph"]);
  });

  it("is the same as another that says the same", () => {
    expect(sameDraft({ a: 1 }, { a: 1 })).toBe(true);
    expect(sameDraft("a = 1", { a: 1 })).toBe(false);
  });
});

describe("the page", () => {
  it("asks for twelve settings at most outside Advanced", () => {
    const others = ["preset", "line", "mode"];
    expect(LIMITS.length + others.length).toBeLessThanOrEqual(12);
  });

  it("knows a preset by its old name and its new one", () => {
    expect(["conservative", "quiet", "default", "strict", "watchful", "ralph"].map(kindOf)).toEqual(
      ["quiet", "quiet", "balanced", "watchful", "watchful", null],
    );
  });

  it("counts what is changed under Advanced, and neither the line nor the five limits", () => {
    const changes = [
      "sensitivity",
      `${LIMITS[0].section}.${LIMITS[0].field}`,
      "budget.usd",
      "judge.every",
      "ladder.every.trip",
    ];
    expect(advancedChanges(changes.map((field) => ({ field, before: null, after: 1 })))).toBe(2);
  });
});

describe("the form", () => {
  it("groups rules by detector, those that look first", () => {
    const groups = groupsOf([
      rule({ section: "errors", on: false }),
      rule(),
      rule({ field: "polls" }),
    ]);
    expect(groups.map(({ words, rules }) => [words, rules.length])).toEqual([
      ["Repeats", 2],
      ["Failures", 1],
    ]);
  });

  it("names a unit, or the field as words", () => {
    expect([unitOf("calls"), unitOf("some_day")]).toEqual(["calls, identical output", "some day"]);
  });

  it("tells the problems of its fields from those of none", () => {
    const problems = ["repeat.calls", "tool.Bash.retry"].map((field) => ({
      field,
      expected: "",
      got: "",
    }));
    expect(problemOf(problems, rule())?.field).toBe("repeat.calls");
    expect(problemOf(problems, rule({ field: "polls" }))).toBeNull();
    expect(otherProblems(problems, [rule()]).map(({ field }) => field)).toEqual([
      "tool.Bash.retry",
    ]);
  });
});

import { describe, expect, it, vi } from "vitest";
import german from "../../messages/de/policies";
import { speech } from "../../messages/speech.svelte";
import type { PolicyRule } from "../../wire/types";
import {
  advancedChanges,
  groupsOf,
  kindOf,
  labelOf,
  ladderOf,
  LIMITS,
  otherProblems,
  presetOf,
  problemOf,
  rebased,
  sameDraft,
  sensitivityOf,
  shownValue,
  unclear,
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

  it("takes a comma for the point that it is, and leaves what may be thousands to be typed again", async () => {
    expect(withRule({}, "score", "alike", "0,8")).toEqual({ score: { alike: 0.8 } });
    expect(withRule({}, "budget", "usd", "8,50")).toEqual({ budget: { usd: "8.50" } });
    const typed = withRule(withRule({}, "repeat", "calls", "1.000"), "budget", "usd", "1.000");
    expect(typed).toEqual({ repeat: { calls: 1 }, budget: { usd: "1.000" } });
    expect(unclear(typed, {})).toEqual([]);

    vi.stubGlobal("navigator", { languages: ["en"] });
    vi.stubGlobal("document", { documentElement: {} });
    await speech.choose("de");
    const German = withRule(withRule({}, "repeat", "calls", "1.000"), "budget", "usd", "1.000");
    const found = [unclear(German, {}), unclear(German, { budget: { usd: "1.000" } })];
    await speech.choose("en");
    vi.unstubAllGlobals();

    expect(German).toEqual({ repeat: { calls: "1.000" }, budget: { usd: "1.000" } });
    expect(found).toMatchObject([[{ field: "budget.usd", got: "1.000" }], []]);
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
  it("calls a changed setting what its form does", () => {
    const labels = {
      "repeat.calls": "Repeated call, identical output",
      "stagnation.window": "Stagnation window",
      sensitivity: "Sensitivity",
      "tool.Bash.repeat.calls": "Repeated call, identical output (Bash)",
      "tool.mcp.files.read.errors.same": "Failures in a row (mcp.files.read)",
      "agent.coder.sensitivity": "Sensitivity (coder)",
      "ladder.every.nudge": "When nearly certain",
      "budget.agents.coder.usd": "budget.agents.coder.usd",
    };

    expect(Object.keys(labels).map(labelOf)).toEqual(Object.values(labels));
  });

  it("says in German what the server expects of a value", () => {
    const said = [
      "a whole number from 2 to 50",
      "a number from 0.5 to 1",
      "a number above 0, at most 1",
      "one of ask, stop",
      "names out of budget, repeat",
      "true or false",
    ].map(german.expected);

    expect(said).toEqual([
      "Erwartet: eine ganze Zahl von 2 bis 50.",
      "Erwartet: eine Zahl von 0,5 bis 1.",
      "Erwartet: eine Zahl über 0, höchstens 1.",
      "Erwartet: eins von ask, stop.",
      "Erwartet: Namen aus budget, repeat.",
      "Erwartet: true oder false.",
    ]);
  });

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

import { describe, expect, it } from "vitest";
import { aDecision, aPermission, aRun } from "../fixtures/rows";
import type { DecisionRow } from "../wire/types";
import { answersOf, shortFix, fixOf, runTapRequest, tapRequestOf } from "./answers";

const budget = aDecision({
  kind: "budget",
  actions: ["allow_budget", "finish", "terminate"],
  evidence: { ...aDecision().evidence, spent: "8.00", ceiling: "8.00", unit: "usd" },
});

describe("answersOf", () => {
  it("promotes the fix, and nothing without one", () => {
    const promoted = (fix: string) =>
      answersOf(aDecision(), fix)
        .filter((answer) => answer.promoted)
        .map(({ label }) => label);

    expect([promoted("look in lib"), promoted("")]).toEqual([["Inject fix"], []]);
    expect(answersOf(aDecision(), "")[0]?.label).toBe("Write a fix");
  });

  it("keeps the place of what the agent cannot do, with the reason", () => {
    const codex = aDecision({
      actions: ["inject", "continue"],
      unavailable: { terminate: "codex cannot be ended from here." },
    });

    expect(answersOf(codex, "x").at(-1)).toMatchObject({
      action: "terminate",
      unavailable: "codex cannot be ended from here.",
    });
  });

  it("offers more budget, a finish and a stop at a budget, and no Continue", () => {
    expect(answersOf(budget, "").map(({ label, key, promoted }) => [label, key, promoted])).toEqual(
      [
        ["Allow $4 more", "$", true],
        ["Finish", "S", false],
        ["Stop", "T", false],
      ],
    );
  });

  it("offers an agent that asks its permission, or none, with a reason", () => {
    const asking = aPermission();

    expect(answersOf(asking, "").map(({ label, key, promoted }) => [label, key, promoted])).toEqual(
      [
        ["Allow once", "Y", true],
        ["Deny", "D", false],
      ],
    );
    expect(tapRequestOf(asking, "deny", { fix: "Use make clean." })).toMatchObject({
      message: "Use make clean.",
    });
    expect(tapRequestOf(asking, "allow_once", { fix: "Use make clean." }).message).toBeUndefined();
  });

  it("says for whom a ceiling is raised", () => {
    const second = (scope: "run" | "agent" | "project" | "day" | "organisation" | null) =>
      answersOf({ ...budget, evidence: { ...budget.evidence, scope } }, "")[0]?.second;

    expect([second(null), second("run")]).toEqual(Array(2).fill("raises the budget and continues"));
    expect([second("agent"), second("project")]).toEqual(Array(2).fill("for all runs it pauses"));
    expect(second("day")).toBe("for all runs, today only");
    expect(second("organisation")).toBe("for all projects, today only");
  });

  it("says when a text reaches an agent that goes on", () => {
    const flagged = aDecision({ holds: false });
    const second = (inject: string[]) =>
      answersOf(flagged, "x", aRun({ capabilities: { inject } }))[0]?.second;

    expect(second(["at_next_tool", "at_stop"])).toBe("the agent reads it at its next tool call");
    expect(second(["at_stop"])).toBe("the agent reads it when it stops");
    expect(second(["when_idle", "now"])).toBe("the agent reads it now");
  });

  it("says of a call that an agent no longer waits for that it is not skipped", () => {
    const run = aRun({ capabilities: { inject: ["at_next_tool"] } });
    const second = (change: Partial<DecisionRow>) =>
      answersOf(aDecision({ gave_up_at: "2026-11-21T14:41:00Z", ...change }), "x", run)[0]?.second;

    expect(second({})).toBe("the agent reads it at its next tool call");
    expect(second({ parked: true })).toBe("skips the call; the agent reads this");
  });

  it("offers to hold what still runs", () => {
    const flagged = aDecision({
      holds: false,
      actions: ["inject", "continue", "terminate", "pause"],
    });

    expect(answersOf(flagged, "x").map(({ label, second }) => [label, second])).toEqual([
      ["Inject fix", "the agent reads it next"],
      ["Pause", "pauses the agent"],
      ["Continue", "this is fine"],
      ["Terminate", "ends the run"],
    ]);
  });
});

describe("tapRequestOf", () => {
  it("carries the version the person saw, and the text as it stands", () => {
    expect(tapRequestOf(aDecision({ version: 7 }), "inject", { fix: "look in lib" })).toMatchObject(
      {
        decision: "decision-1",
        version: 7,
        message: "look in lib",
        scope: undefined,
      },
    );
  });

  it("allows more of the unit that ran out", () => {
    const turns = { ...budget, evidence: { ...budget.evidence, unit: "turns", ceiling: "25" } };

    expect(tapRequestOf(budget, "allow_budget").amount).toEqual({ usd: "4.00" });
    expect(tapRequestOf(turns, "allow_budget").amount).toEqual({ turns: 13 });
  });

  it("says what an end takes along", () => {
    const second = (descendants: number) =>
      answersOf(aDecision(), "", null, descendants).find(({ action }) => action === "terminate")
        ?.second;

    expect([second(0), second(2)]).toEqual(["ends the run", "ends it and 2 runs it started"]);
  });

  it("sends a scope only with an allowlist entry", () => {
    expect(tapRequestOf(aDecision(), "allowlist", { scope: "agent" }).scope).toBe("agent");
    expect(tapRequestOf(aDecision(), "continue", { scope: "agent" }).scope).toBeUndefined();
  });
});

it("always lets a run be stopped, whatever its version", () => {
  expect(runTapRequest(aRun(), "terminate").version).toBeNull();
  expect(runTapRequest(aRun({ version: 4 }), "continue").version).toBe(4);
});

it("takes the person's words over the judge's", () => {
  const verdict = {
    judge: "local",
    loop: true,
    confidence: 0.9,
    reason: "",
    fix: "his",
    stand_in: false,
  };

  expect(fixOf(aDecision({ verdict }), undefined)).toBe("his");
  expect(fixOf(aDecision({ verdict }), "  mine ")).toBe("mine");
  expect(fixOf(aDecision({ verdict }), "")).toBe("");
});

describe("shortFix", () => {
  it("leaves a short fix as it is", () => {
    expect(shortFix("Read lib/auth.py first.")).toBe("Read lib/auth.py first.");
  });

  it("cuts between words, and leaves no stop before the dots", () => {
    expect(shortFix(`${"a".repeat(110)} first, then change`)).toBe(`${"a".repeat(110)} first…`);
  });

  it("keeps a word that ends where it is cut", () => {
    expect(shortFix(`${"a".repeat(114)} begin then`)).toBe(`${"a".repeat(114)} begin…`);
  });

  it("halves no emoji", () => {
    expect(shortFix("🦀".repeat(130))).toBe(`${"🦀".repeat(120)}…`);
  });
});

import { describe, expect, it } from "vitest";
import { aDecision, aTurn } from "../fixtures/rows";
import type { AutofixRow, InterventionRow } from "../wire/types";
import { EVERYTHING, itemsOf, loopsOf, matches, pinsOf, toolCounts } from "./timeline";
import { outcomeOf } from "../format/words";

const at = (second: number) => `2026-11-21T12:00:${String(second).padStart(2, "0")}Z`;
const turns = [0, 1, 2, 3].map((seq) => aTurn({ seq, ts: at(seq * 10) }));
const card = (change = {}) =>
  aDecision({ evidence: { ...aDecision().evidence, turns: [1, 2, 3] }, ...change });
const made: InterventionRow = {
  id: "made-1", project: "p", run: "run-1", decision: null, key: "k", action: "inject",
  status: "asked", by: "Ana", message: "m", version: 2, at: at(15), delivered_at: null,
  acknowledged_at: null, new_run: null,
};

describe("loopsOf", () => {
  it("titles an open loop with what ran, what is held and what it cost", () => {
    const held = turns.map((turn) => (turn.seq === 3 ? { ...turn, phase: "proposed" as const } : turn));

    expect(loopsOf([card()], held)).toEqual([{
      decision: "decision-1", open: true, from: 1, to: 3,
      title: "Turns 2–4: same call, same result",
      detail: "2 runs and 1 held, in 20 s · $0.24",
    }]);
  });

  it("says how an answered loop was answered", () => {
    const done = card({ status: "resolved", resolution: "continue" });

    expect(loopsOf([done], turns)[0]).toMatchObject({ open: false, detail: "3 runs, in 20 s · $0.24 · continued" });
  });

  it("has no loop for a budget", () => {
    expect(loopsOf([card({ kind: "budget" })], turns)).toEqual([]);
  });
});

describe("itemsOf", () => {
  const loops = loopsOf([card()], turns);

  it("puts answers where they were given and a title over each loop", () => {
    const items = itemsOf(turns, loops, pinsOf([made], []), new Set());

    expect(items.map(({ kind }) => kind)).toEqual(["turn", "loop", "turn", "pin", "turn", "turn"]);
  });

  it("folds a loop to its title, and keeps later answers at the end", () => {
    const items = itemsOf(turns, loops, pinsOf([{ ...made, at: at(59) }], []), new Set(["decision-1"]));

    expect(items.map(({ kind }) => kind)).toEqual(["turn", "loop", "pin"]);
  });
});

describe("an autofix", () => {
  const fix: AutofixRow = {
    id: "fix-1", project: "p", run: "run-1", run_name: "r", decision: "d", text: "t",
    applied_at: at(5), delivered_at: null, recovered: null, judged_at: null, turns_after: 1,
  };

  it("stands where it was given", () => {
    expect(itemsOf(turns, [], pinsOf([], [fix]), new Set()).map(({ kind }) => kind)).toEqual([
      "turn", "fix", "turn", "turn", "turn",
    ]);
  });

  it("says what came of it", () => {
    expect(outcomeOf(fix)).toBe("asked, not confirmed");
    expect(outcomeOf({ ...fix, delivered_at: at(6) })).toBe("delivered");
    expect(outcomeOf({ ...fix, recovered: true })).toBe("went on after 1 turn");
    expect(outcomeOf({ ...fix, recovered: false })).toBe("did not help");
  });
});

it("finds turns by tool, by signal and by any word", () => {
  const turn = aTurn({ tool: "Read", result: "class TokenStore", detector: "ping_pong" });

  expect(matches(turn, EVERYTHING)).toBe(true);
  expect(matches(turn, { ...EVERYTHING, tool: "Bash" })).toBe(false);
  expect(matches(turn, { ...EVERYTHING, words: "tokenstore" })).toBe(true);
  expect(matches(turn, { ...EVERYTHING, words: "nothing" })).toBe(false);
  expect(matches(aTurn(), { ...EVERYTHING, signals: true })).toBe(false);
});

it("counts tools, most used first", () => {
  expect(toolCounts([aTurn(), aTurn({ tool: null }), aTurn()])).toEqual([["Bash", 2], ["text", 1]]);
});

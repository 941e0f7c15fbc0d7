import { describe, expect, it } from "vitest";
import { aDecision, aTurn } from "../../fixtures/rows";
import type { AutofixRow, InterventionRow } from "../../wire/types";
import { loopsOf, pinsOf } from "./timeline";
import { outcomeOf } from "../../format/words";

const at = (second: number) => `2026-11-21T12:00:${String(second).padStart(2, "0")}Z`;
const turns = [0, 1, 2, 3].map((seq) => aTurn({ seq, ts: at(seq * 10) }));
const card = (change = {}) =>
  aDecision({ evidence: { ...aDecision().evidence, turns: [1, 2, 3] }, ...change });
const made: InterventionRow = {
  id: "made-1",
  project: "p",
  run: "run-1",
  decision: null,
  key: "k",
  action: "inject",
  status: "asked",
  by: "Ana",
  message: "m",
  version: 2,
  at: at(15),
  delivered_at: null,
  acknowledged_at: null,
  new_run: null,
};

describe("loopsOf", () => {
  it("titles an open loop with what ran, what is held and what it cost", () => {
    const held = turns.map((turn) =>
      turn.seq === 3 ? { ...turn, phase: "proposed" as const } : turn,
    );

    expect(loopsOf([card()], held)).toEqual([
      {
        decision: "decision-1",
        kind: "exact_repeat",
        open: true,
        from: 1,
        to: 3,
        title: "Turns 2–4: same call, identical output",
        detail: "2 calls, 1 paused, in 20 s · $0.24",
      },
    ]);
  });

  it("says how an answered loop was answered", () => {
    const done = card({ status: "resolved", resolution: "continue" });

    expect(loopsOf([done], turns)[0]).toMatchObject({
      open: false,
      detail: "3 calls, in 20 s · $0.24 · continued",
    });
  });

  it("has no loop for a budget", () => {
    expect(loopsOf([card({ kind: "budget" })], turns)).toEqual([]);
  });
});

it("pins what people and auto gave", () => {
  expect(pinsOf([made], []).map(({ kind, at }) => [kind, at])).toEqual([["pin", at(15)]]);
});

it("describes a loop whose turns are far away as its card remembers it", () => {
  const items = [1, 2, 3].map((seq) => ({
    seq,
    agent: "",
    call: "ls",
    result: null,
    error: null,
    ran: seq < 3,
    at: at(seq * 10),
    run: null,
  }));

  const [loop] = loopsOf([card({ evidence: { ...card().evidence, items } })], []);

  expect(loop?.detail).toBe("2 calls, 1 paused, in 20 s · $0.24");
});

describe("an autofix", () => {
  const fix: AutofixRow = {
    id: "fix-1",
    project: "p",
    run: "run-1",
    run_name: "r",
    decision: "d",
    text: "t",
    kind: "same_error",
    applied_at: at(5),
    delivered_at: null,
    recovered: null,
    judged_at: null,
    turns_after: 1,
    seq: null,
  };

  it("is pinned where it was given", () => {
    expect(pinsOf([], [fix])).toEqual([{ kind: "fix", key: "fix-1", at: at(5), fix }]);
  });

  it("says what came of it", () => {
    expect(outcomeOf(fix)).toBe("sent, not confirmed yet");
    expect(outcomeOf({ ...fix, delivered_at: at(6) })).toBe("delivered");
    expect(outcomeOf({ ...fix, recovered: true })).toBe("recovered after 1 turn");
    expect(outcomeOf({ ...fix, recovered: false })).toBe("did not help");
  });
});

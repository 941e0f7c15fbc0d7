import { expect, it } from "vitest";
import type { AuditRow } from "../wire/types";
import { didWords } from "./audit";

const row = (type: string, payload: Record<string, unknown> | null = {}): AuditRow => ({
  id: "a", project: "p", run: null, seq: 0, type, at: "", by: "Ana", version: 1, status: null, payload,
  digest: "", previous: "", hash: "", run_name: null,
});

it.each([
  ["run.moved", { reason: "the agent waits" }, "the agent waits"],
  ["turn.recorded", { turn_seq: 3 }, "recorded turn 4"],
  ["judge.ruled", { verdict: { loop: true, confidence: 0.94 } }, "ruled a loop, 0.94"],
  ["judge.ruled", { verdict: { loop: false } }, "ruled no loop"],
  ["intervention.made", { row: { action: "inject" } }, "injected a fix"],
  ["autofix.judged", { recovered: true }, "went on after the fix"],
  ["decision.opened", {}, "opened a card"],
  ["policy.changed", { what: "hold_limit" }, "changed hold limit"],
  ["something.new", {}, "something.new"],
])("says %s as a deed", (type, payload, words) => {
  expect(didWords(row(type, payload))).toBe(words);
});

it("survives an erased payload", () => {
  expect(didWords(row("turn.recorded", null))).toBe("recorded turn ");
  expect(didWords(row("judge.ruled", { verdict: 7 }))).toBe("ruled no loop");
});

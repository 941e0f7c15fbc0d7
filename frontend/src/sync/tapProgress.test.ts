import { expect, it } from "vitest";
import { answersHeldCall } from "../card/heldCall";
import { aDecision, aRun } from "../fixtures/rows";
import type { InterventionRow } from "../wire/types";
import { canHoldAgain, canUndo, isUnderWay, deliveryOf } from "./tapProgress";

const row = (change: Partial<InterventionRow>): InterventionRow => ({
  id: "i",
  project: "p",
  run: "run-1",
  decision: "d1",
  key: "k",
  action: "continue",
  status: "asked",
  by: "Ana",
  message: null,
  version: 4,
  at: "",
  delivered_at: null,
  acknowledged_at: null,
  new_run: null,
  ...change,
});
const AT = "2026-11-21T14:41:00Z";
const after = (ms: number) => Date.parse(AT) + ms;

it("says where an answer is", () => {
  const lines = [
    null,
    row({}),
    row({ status: "delivered" }),
    row({ status: "acknowledged" }),
    row({ status: "unreachable" }),
  ].map(deliveryOf);

  expect(lines).toEqual(["queued", "queued", "delivered", "acted on", "not delivered"]);
});

it("is taken at once where the agent waits for it, and later once it gave up waiting", () => {
  expect(answersHeldCall(aDecision())).toBe(true);
  expect(answersHeldCall(aDecision({ holds: false }))).toBe(false);
  expect(answersHeldCall(aDecision({ gave_up_at: AT }))).toBe(false);
  // Its card is closed by now, and tells no more that it gave up.
  expect(answersHeldCall(aDecision(), row({ status: "unreachable" }))).toBe(false);
  expect(answersHeldCall(null)).toBe(false);
});

it("stays until the agent acted on it, and a moment to be read", () => {
  const done = row({ status: "acknowledged", acknowledged_at: AT });

  expect(isUnderWay({ phase: "asked" }, row({ status: "delivered" }), after(3_600_000))).toBe(true);
  expect(isUnderWay({ phase: "asked" }, row({ status: "unreachable" }), after(3_600_000))).toBe(
    true,
  );
  expect([
    isUnderWay({ phase: "asked" }, done, after(3_000)),
    isUnderWay({ phase: "asked" }, done, after(5_000)),
  ]).toEqual([true, false]);
  expect(isUnderWay({ phase: "failed" }, null, after(0))).toBe(false);
  expect(isUnderWay({ phase: "asked" }, row({ status: "unreachable" }), after(0), true)).toBe(
    false,
  );
});

it("takes back what was given at any time, a Continue or a text until the agent has it, a pause never", () => {
  const asked = (
    action: "continue" | "allowlist" | "allow_budget" | "inject" | "finish" | "pause",
    status: InterventionRow["status"],
  ) => canUndo({ phase: "asked", action }, row({ status }));

  expect([asked("allowlist", "acknowledged"), asked("allow_budget", "delivered")]).toEqual([
    true,
    true,
  ]);
  expect([
    asked("continue", "asked"),
    asked("inject", "asked"),
    asked("finish", "asked"),
    asked("pause", "asked"),
  ]).toEqual([true, true, true, false]);
  expect([
    asked("continue", "delivered"),
    asked("inject", "delivered"),
    asked("finish", "acknowledged"),
  ]).toEqual([false, false, false]);
  expect([
    canUndo({ phase: "sending", action: "allowlist" }, null),
    canUndo({ phase: "counting", action: "terminate" }, null),
  ]).toEqual([false, true]);
});

it("can be paused again where it waited before the answer and works by now", () => {
  const again = (action: "continue" | "deny" | "inject", card = aDecision(), run = aRun()) =>
    canHoldAgain({ action, decision: card.id }, card, run);
  const withoutCard = (action: "continue" | "inject") =>
    canHoldAgain({ action, decision: null }, null, aRun());

  expect([again("continue"), again("inject"), withoutCard("continue")]).toEqual([true, true, true]);
  // A permission's card holds nobody, nor does one that only flagged the run.
  expect(again("deny", aDecision({ kind: "permission", holds: false }))).toBe(false);
  expect(again("continue", aDecision({ holds: false }))).toBe(false);
  expect(withoutCard("inject")).toBe(false);
  expect(again("continue", aDecision(), aRun({ status: "held" }))).toBe(false);
  expect(again("continue", aDecision(), aRun({ unavailable: { pause: "It reports." } }))).toBe(
    false,
  );
});

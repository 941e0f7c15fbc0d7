import { expect, test } from "vitest";
import { NOON, PROJECT, aDecision } from "../fixtures/rows";
import { isBatchable } from "./batching";
import type { Event } from "../wire/types";

const head = {
  project: PROJECT,
  run: "run-1",
  seq: 2,
  at: NOON,
  by: "agent",
  version: 1,
  status: null,
};
const turn: Event = {
  ...head,
  type: "turn.recorded",
  turn_id: "t",
  turn_seq: 3,
  digest: "",
  turn: null,
};
const card: Event = { ...head, type: "decision.opened", row: aDecision() };

test("turns and meters wait a moment", () => {
  expect(isBatchable(turn)).toBe(true);
  expect(isBatchable({ type: "meters", runs: {} })).toBe(true);
  expect(isBatchable({ type: "batch", events: [turn, turn] })).toBe(true);
});

test("a card never waits, whatever comes with it", () => {
  expect(isBatchable(card)).toBe(false);
  expect(isBatchable({ type: "batch", events: [turn, card] })).toBe(false);
});

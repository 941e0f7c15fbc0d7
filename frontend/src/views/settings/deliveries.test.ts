import { describe, expect, it } from "vitest";
import type { DeliveryRow } from "../../wire/types";
import { isLater, readAgainIn } from "./deliveries";

const NOON = Date.parse("2026-11-21T12:00:00Z");

function aDelivery(fields: Partial<DeliveryRow> = {}): DeliveryRow {
  return {
    id: "d1",
    project: "p1",
    run: null,
    run_name: null,
    decision: null,
    what: "decision",
    title: "fix is held",
    kind: "slack",
    target: "ops",
    channel: "c1",
    step_minutes: 0,
    status: "waiting",
    tries: 0,
    most_tries: 8,
    created_at: "2026-11-21T12:00:00Z",
    due_at: "2026-11-21T12:00:10Z",
    sent_at: null,
    error: null,
    can_retry: false,
    ...fields,
  };
}

describe("reading again", () => {
  it("comes a moment after the next try", () => {
    expect(readAgainIn([aDelivery(), aDelivery({ due_at: "2026-11-21T12:00:02Z" })], NOON)).toBe(
      3000,
    );
  });

  it("never hurries and is calm when nothing is near", () => {
    expect(readAgainIn([aDelivery()], NOON + 60_000)).toBe(1500);
    expect(readAgainIn([aDelivery({ due_at: "2026-11-21T13:00:00Z" })], NOON)).toBe(5000);
    expect(readAgainIn([aDelivery({ due_at: null, status: "sent" })], NOON)).toBe(5000);
  });
});

describe("a later step", () => {
  it("waits for people as long as nothing was tried", () => {
    expect(isLater(aDelivery({ step_minutes: 5 }))).toBe(true);
    expect(isLater(aDelivery({ step_minutes: 5, tries: 1 }))).toBe(false);
    expect(isLater(aDelivery())).toBe(false);
  });
});

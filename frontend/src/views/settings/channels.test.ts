import { describe, expect, it } from "vitest";
import type { ChannelRow } from "../../wire/types";
import { draftOf, emptyDraft, newOf, patchOf, stepsOf, withEvent } from "./channels";

function aChannel(fields: Partial<ChannelRow> = {}): ChannelRow {
  return {
    id: "c1",
    project: "p1",
    kind: "slack",
    name: "ops",
    shown: "hooks.slack.com",
    enabled: true,
    step_minutes: 0,
    quiet_from: null,
    quiet_to: null,
    language: "en",
    hears: ["decisions", "budgets"],
    created_by: "ana",
    created_at: "2026-11-21T12:00:00Z",
    last: null,
    ...fields,
  };
}

describe("a channel's form", () => {
  it("sends nothing where nothing was changed", () => {
    const row = aChannel({ quiet_from: "22:00", quiet_to: "07:00", step_minutes: 5 });
    expect(patchOf(row, draftOf(row))).toEqual({});
  });

  it("sends an address only when one was entered", () => {
    const row = aChannel();
    expect(patchOf(row, { ...draftOf(row), address: " slack://A/B/C " })).toEqual({
      address: "slack://A/B/C",
    });
  });

  it("sends the language when another was chosen", () => {
    const row = aChannel();
    expect(patchOf(row, { ...draftOf(row), language: "de" })).toEqual({ language: "de" });
    expect(newOf(emptyDraft("de"), "p1").language).toBe("de");
  });

  it("ends quiet hours by empty texts", () => {
    const row = aChannel({ quiet_from: "22:00", quiet_to: "07:00" });
    expect(patchOf(row, { ...draftOf(row), quietFrom: "", quietTo: "" })).toEqual({
      quiet_from: "",
      quiet_to: "",
    });
  });

  it("keeps what is heard in one order", () => {
    const draft = { ...emptyDraft(), hears: withEvent(emptyDraft(), "reports", true) };
    expect(draft.hears).toEqual(["decisions", "budgets", "reports"]);
    expect(withEvent(draft, "budgets", false)).toEqual(["decisions", "reports"]);
  });

  it("names the project of a new channel", () => {
    expect(
      newOf({ ...emptyDraft(), name: " ops ", address: " x ", step: "5" }, "p1"),
    ).toMatchObject({
      name: "ops",
      address: "x",
      project: "p1",
      step_minutes: 5,
      quiet_from: null,
    });
  });
});

describe("the steps of a card", () => {
  const own = "your phones";

  it("begin with the devices and go on by minutes", () => {
    const rows = [
      aChannel({ name: "boss", step_minutes: 15 }),
      aChannel({ name: "ops" }),
      aChannel({ name: "duty", step_minutes: 5 }),
    ];
    expect(stepsOf(rows, own, 3600)).toEqual([
      { minutes: 0, names: [own, "ops"] },
      { minutes: 5, names: ["duty"] },
      { minutes: 15, names: ["boss"] },
    ]);
  });

  it("leave out what is off, hears of no cards, or comes after the hold is over", () => {
    const rows = [
      aChannel({ enabled: false }),
      aChannel({ hears: ["reports"] }),
      aChannel({ name: "late", step_minutes: 60 }),
    ];
    expect(stepsOf(rows, own, 3600)).toEqual([{ minutes: 0, names: [own] }]);
  });
});

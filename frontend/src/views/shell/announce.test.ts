import { expect, it } from "vitest";
import { aDecision, aPermission } from "../../fixtures/rows";
import { newsOf } from "./announce";

const held = aDecision({ id: "a", holds: true, run_name: "nightly" });
const flagged = aDecision({ id: "b", holds: false, run_name: "docs" });

it("tells of a card once", () => {
  expect(newsOf(new Set(), [flagged])).toEqual({ text: "A card is open: docs", urgent: false });
  expect(newsOf(new Set(["b"]), [flagged])).toBeNull();
});

it("interrupts only for an agent that is held", () => {
  expect(newsOf(new Set(["b"]), [held, flagged])).toEqual({
    text: "Paused, waiting for you: nightly",
    urgent: true,
  });
});

it("counts what came together instead of reading it all out", () => {
  expect(newsOf(new Set(), [held, flagged])).toEqual({
    text: "2 new cards are open",
    urgent: true,
  });
});

it("interrupts for an agent that asks for a permission", () => {
  expect(newsOf(new Set(), [aPermission()])).toEqual({
    text: "Asks for permission: fix-auth-tests",
    urgent: true,
  });
});

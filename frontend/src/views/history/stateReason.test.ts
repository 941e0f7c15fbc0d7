import { expect, it } from "vitest";
import type { HistoryRow } from "../../wire/types";
import { aRun } from "../../fixtures/rows";
import { stateReasonOf } from "./stateReason";

const NOW = new Date("2026-11-21T14:41:00");
const NO_CARD: HistoryRow["why"] = {
  kind: "",
  summary: "",
  resolution: null,
  by: null,
  message: null,
  recovered: null,
  turns_after: null,
  turn: null,
};
const why = (status: HistoryRow["status"], more: Partial<HistoryRow["why"]> = {}) =>
  stateReasonOf({ ...aRun({ status }), why: { ...NO_CARD, ...more } }, NOW, (by) =>
    by === "me" ? "You" : by,
  );

it.each([
  ["completed", {}, "completed normally"],
  ["failed", {}, "the agent reported a failure"],
  ["terminated", { resolution: "terminate", by: "me" }, "You: ended it"],
  [
    "terminated",
    { kind: "exact_repeat", resolution: "terminate", by: "Ana", summary: "same 401, eight times" },
    "Ana: same 401, eight times",
  ],
  ["completed", { kind: "exact_repeat", resolution: "continue", by: "Ana" }, "Ana continued it"],
  [
    "terminated",
    { kind: "exact_repeat", resolution: "stop", by: "policy" },
    "no answer, policy stopped it",
  ],
  [
    "held",
    { kind: "exact_repeat", summary: "It ran the same test 4 times." },
    "It ran the same test 4 times.",
  ],
] as const)("says of a run that is %s (%j): %s", (status, told, words) => {
  expect(why(status, told).text).toBe(words);
});

it("says that an auto-fix worked, and after how many turns", () => {
  expect(
    why("completed", {
      kind: "exact_repeat",
      resolution: "autofix",
      recovered: true,
      turns_after: 1,
    }),
  ).toEqual({ text: "autofix, recovered after 1 turn", tone: "fixed" });
});

import { expect, it } from "vitest";
import audit from "../messages/de/audit";
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
  ["policy.changed", { what: "the saved view “Over $5”", before: null, after: { q: "cost:>5" } }, "added the saved view “Over $5”"],
  ["policy.changed", { what: "the device “my_phone”", before: { enabled: true }, after: { enabled: false } }, "changed the device “my_phone”"],
  ["policy.changed", { what: "the channel ops", before: { name: "ops" }, after: null }, "removed the channel “ops”"],
  ["access.changed", { what: "signed out “Pixel”" }, "signed out “Pixel”"],
  ["access.changed", {}, "changed access"],
  ["something.new", {}, "something.new"],
])("says %s as a deed", (type, payload, words) => {
  expect(didWords(row(type, payload))).toBe(words);
});

it.each([
  ["made the agent key “ci” (mc_a1b2…)", "erstellte den Agentenschlüssel „ci“ (mc_a1b2…)"],
  ["revoked the agent key “ci” (mc_a1b2…)", "widerrief den Agentenschlüssel „ci“ (mc_a1b2…)"],
  ["made the personal token “x” (mcu_…)", "erstellte das persönliche Token „x“ (mcu_…)"],
  ["revoked the personal token “x” (mcu_…)", "widerrief das persönliche Token „x“ (mcu_…)"],
  ["paired “Pixel 9”", "koppelte „Pixel 9“"],
  ["signed in “a browser” by a link", "meldete „ein Browser“ mit einem Link an"],
  ["had pushes sent to “Pixel 9”", "ließ Benachrichtigungen an „Pixel 9“ senden"],
  ["ended the pushes to “Pixel 9”", "beendete die Benachrichtigungen an „Pixel 9“"],
  ["signed out “Pixel 9”", "meldete „Pixel 9“ ab"],
  ["signed out everywhere else", "meldete sich überall sonst ab"],
  ["what a newer server says", "what a newer server says"],
])("says in German who may come in: %s", (said, german) => {
  expect(audit.did.accessed(said)).toBe(german);
});

it("says in German what became of a thing with a name", () => {
  expect([audit.did.added, audit.did.altered, audit.did.removed].map((say) => say(audit.things.device("Pixel")))).toEqual([
    "fügte das Gerät „Pixel“ hinzu", "änderte das Gerät „Pixel“", "entfernte das Gerät „Pixel“",
  ]);
});

it("survives an erased payload", () => {
  expect(didWords(row("turn.recorded", null))).toBe("recorded turn ");
  expect(didWords(row("judge.ruled", { verdict: 7 }))).toBe("ruled no loop");
});

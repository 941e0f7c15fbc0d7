import { expect, it } from "vitest";
import audit from "../../messages/de/audit";
import type { AuditFault, AuditRow } from "../../wire/types";
import { didWords, faultWords, isEcho, whoDid } from "./audit";

const row = (type: string, payload: Record<string, unknown> | null = {}): AuditRow => ({
  id: "a",
  project: "p",
  run: null,
  seq: 0,
  type,
  at: "",
  by: "Ana",
  version: 1,
  status: null,
  payload,
  digest: "",
  previous: "",
  hash: "",
  run_name: null,
  salt: null,
});

it.each([
  ["run.moved", { reason: "the agent waits" }, "waits for the answer"],
  ["run.moved", { reason: "mode set to auto" }, "set the mode to auto"],
  ["run.moved", { reason: "the session ended" }, "the session ended"],
  ["run.moved", { reason: "answer acknowledged" }, "acted on the answer"],
  ["run.moved", { reason: "answer unreachable" }, "could not be reached by the answer"],
  // Whoever gave the next answer did it, not the agent.
  ["run.moved", { reason: "answer superseded" }, "replaced an answer that had not been delivered"],
  ["run.moved", { reason: "Paused by Ana." }, "paused the run"],
  ["run.moved", { reason: "Restarted by Ana." }, "restarted the run"],
  ["run.moved", { reason: "Terminated by ana." }, "asked the run to end"],
  [
    "run.moved",
    { reason: 'Ended with "the lead", which started it: Terminated by ana.' },
    "asked the run to end with “the lead”, which started it",
  ],
  [
    "run.moved",
    { reason: "It had 3 turns to finish." },
    "asked the run to end: it had 3 turns to finish",
  ],
  // What a person wrote as they ended it, though it begins like something else.
  ["run.moved", { reason: "Restarted by hand." }, "Restarted by hand."],
  ["run.moved", { reason: "Paused by mistake." }, "Paused by mistake."],
  ["run.moved", { reason: "answer wrong" }, "answer wrong"],
  ["turn.recorded", { turn_seq: 3 }, "recorded turn 4"],
  ["judge.ruled", { verdict: { loop: true, confidence: 0.94 } }, "ruled a loop, 0.94"],
  ["judge.ruled", { verdict: { loop: false } }, "ruled no loop"],
  ["intervention.made", { row: { action: "inject", decision: "decision-1" } }, "injected a fix"],
  ["run.moved", { reason: "inject" }, "changed the run’s status"],
  ["intervention.made", { row: { action: "inject", decision: null } }, "sent a message"],
  ["autofix.judged", { recovered: true }, "recovered after the fix"],
  ["decision.opened", {}, "opened a card"],
  ["policy.changed", { what: "hold_limit" }, "changed hold limit"],
  [
    "policy.changed",
    { what: "the saved view “Over $5”", before: null, after: { q: "cost:>5" } },
    "added the saved view “Over $5”",
  ],
  [
    "policy.changed",
    { what: "the device “my_phone”", before: { enabled: true }, after: { enabled: false } },
    "changed the device “my_phone”",
  ],
  [
    "policy.changed",
    { what: "the channel ops", before: { name: "ops" }, after: null },
    "removed the channel “ops”",
  ],
  ["access.changed", { what: "signed out “Pixel”" }, "signed out “Pixel”"],
  ["access.changed", {}, "changed access"],
  [
    "intervention.made",
    { row: { action: "allow_budget" }, raised: { usd: ["5", "8"] } },
    "raised budget $5.00 → $8.00",
  ],
  ["intervention.made", { row: { action: "allow_budget" }, raised: null }, "allowed more budget"],
  [
    "policy.changed",
    { what: "budget", before: { usd: "5" }, after: { usd: "8" } },
    "changed budget: each run $5.00 → $8.00",
  ],
  [
    "policy.changed",
    { what: "budgets", before: {}, after: { project: { calls: 8 } } },
    "changed budget: all runs none → 8 calls",
  ],
  [
    "policy.changed",
    { what: "organisation_budget", before: {}, after: { usd: "100" } },
    "changed budget: all projects, a day none → $100.00",
  ],
  [
    "policy.changed",
    {
      what: "organisation_extra",
      before: {},
      after: { day: "2026-11-21", more: { usd: "5" } },
    },
    "changed budget: all projects, added today none → $5.00",
  ],
  [
    "audit.amended",
    { change: "erased", reason: "the customer asked" },
    "erased the content of a run: the customer asked",
  ],
  ["something.new", {}, "something.new"],
])("says %s as a deed", (type, payload, words) => {
  expect(didWords(row(type, payload))).toBe(words);
});

it.each([
  [
    "made the agent key “ci” (mc_a1b2…), for the whole project",
    "erstellte den Agentenschlüssel „ci“ (mc_a1b2…) für das ganze Projekt",
  ],
  [
    "made the agent key “ci” (mc_a1b2…), for the runs of “coder”",
    "erstellte den Agentenschlüssel „ci“ (mc_a1b2…) für die Läufe von „coder“",
  ],
  ["made the agent key “ci” (mc_a1b2…)", "erstellte den Agentenschlüssel „ci“ (mc_a1b2…)"],
  ["revoked the agent key “ci” (mc_a1b2…)", "widerrief den Agentenschlüssel „ci“ (mc_a1b2…)"],
  ["made the personal token “x” (mcu_…)", "erstellte das persönliche Token „x“ (mcu_…)"],
  ["revoked the personal token “x” (mcu_…)", "widerrief das persönliche Token „x“ (mcu_…)"],
  ["paired “Pixel 9”", "koppelte „Pixel 9“"],
  ["signed in “a browser” by a link", "meldete sich mit einem Link an"],
  [
    "signed in “Pixel 9” by a password and a recovery code",
    "meldete sich auf „Pixel 9“ mit einem Passwort und mit einem Wiederherstellungscode an",
  ],
  ["had pushes sent to “Pixel 9”", "ließ Benachrichtigungen an „Pixel 9“ senden"],
  ["ended the pushes to “Pixel 9”", "beendete die Benachrichtigungen an „Pixel 9“"],
  ["signed out “Pixel 9”", "meldete „Pixel 9“ ab"],
  ["signed out everywhere else", "meldete sich überall sonst ab"],
  ["shared the run 01a219a5 by a link for 7 days", "teilte per Link für 7 Tage: Lauf 01a219a5"],
  ["revoked the link to the costs of 2026-11-16", "widerrief den Link: Kosten ab 2026-11-16"],
  ["what a newer server says", "what a newer server says"],
])("says in German who may come in: %s", (said, german) => {
  expect(audit.did.accessed(said)).toBe(german);
});

it.each([
  ["signed in “a browser” by a link", "signed in with a link"],
  [
    "signed in “Pixel 9” by a password and a code",
    "signed in on “Pixel 9” with a password and a code",
  ],
])("says plainly who came in: %s", (said, plain) => {
  expect(didWords(row("access.changed", { what: said }))).toBe(plain);
});

it("says that the server itself signs, and a person, rule or agent does the rest", () => {
  const [signed, opened] = [row("chain.anchored"), row("run.opened")];
  const nameOf = (by: string) => `the one called ${by}`;

  expect([whoDid(signed, nameOf), didWords(signed)]).toEqual([
    "Mission Control",
    "signed the log up to here (checkpoint)",
  ]);
  expect(whoDid(opened, nameOf)).toBe("the one called Ana");
});

it("names what was shared by the first letters of its id", () => {
  const what = "revoked the link to the card 01a219a5-7b45-7337-b656-756c904b16aa";

  expect(didWords(row("access.changed", { what }))).toBe("revoked the link to the card 01a219a5");
});

it("says in German what became of a thing with a name", () => {
  expect(
    [audit.did.added, audit.did.altered, audit.did.removed].map((say) =>
      say(audit.things.device("Pixel")),
    ),
  ).toEqual([
    "fügte das Gerät „Pixel“ hinzu",
    "änderte das Gerät „Pixel“",
    "entfernte das Gerät „Pixel“",
  ]);
});

it("leaves out the rows that only tell runs of a budget that one row tells of", () => {
  expect(isEcho(row("run.moved", { reason: "budget changed", budget: { usd: "8" } }))).toBe(true);
  expect(isEcho(row("run.moved", { reason: "continue" }))).toBe(false);
  expect(isEcho(row("run.moved", null))).toBe(false);
});

const fault = (of: Partial<AuditFault>): AuditFault => ({
  kind: "changed",
  words: "",
  project: "p",
  run: null,
  seq: 3,
  row: null,
  what: "",
  found: "",
  expected: "",
  ...of,
});

it("says in a sentence what does not hold", () => {
  expect(faultWords(fault({}))).toBe("Row 3 was changed: it does not match its hash.");
  const cost = fault({ kind: "run_row", what: "cost_usd", found: "0.01", expected: "0.25" });
  expect(faultWords(cost)).toBe("The run’s cost_usd is 0.01; its events say 0.25.");
});

it("says a fault that it does not know yet in the server's words", () => {
  const unknown: AuditFault = JSON.parse(
    JSON.stringify({ ...fault({ words: "the row sang" }), kind: "sang" }),
  );

  expect(faultWords(unknown)).toBe("the row sang");
});

it("survives an erased payload", () => {
  expect(didWords(row("turn.recorded", null))).toBe("recorded turn ");
  expect(didWords(row("judge.ruled", { verdict: 7 }))).toBe("ruled no loop");
});

import { expect, it } from "vitest";
import { aRun } from "../../fixtures/rows";
import type { Tap } from "../../sync/taps.svelte";
import type { Conversation } from "../../wire/types";
import { entriesOf, wakesWhenIdle } from "./conversation";

const AT = (second: number) => `2026-11-21T14:00:0${String(second)}Z`;
const message = (key: string, second: number): Conversation["messages"][number] => ({
  id: `id-${key}`,
  text: key,
  by: "ana",
  agent: null,
  state: "queued",
  queued_at: AT(second),
  delivered_at: null,
  read_at: null,
  read_seq: null,
  acted_seq: null,
  key,
  undoable: true,
});
const TOLD: Conversation = {
  run: "run",
  messages: [message("one", 2), message("two", 4)],
  words: [{ seq: 7, at: AT(3), agent: "coder", text: "Done." }],
  permissions: [
    {
      decision: "card",
      seq: 6,
      tool: "Bash",
      text: "rm -r out",
      resolution: "deny",
      by: "ana",
      at: AT(1),
    },
  ],
  earlier: 0,
};
const tap = (key: string): Tap => ({
  run: "run",
  runName: "run",
  action: "inject",
  decision: null,
  version: 1,
  message: key,
  key,
  phase: "asked",
  leavesAt: null,
  tries: 0,
  madeAt: 0,
  problem: null,
});

it("puts what was said in the order in which it was", () => {
  expect(entriesOf(TOLD, [], []).map(({ kind }) => kind)).toEqual([
    "settled",
    "message",
    "words",
    "message",
  ]);
});

it("ends with what is on its way, until the server tells of it", () => {
  const keys = entriesOf(TOLD, [], [tap("two"), tap("three")]).map(({ key }) => key);

  expect(keys.at(-1)).toBe("three");
  expect(keys).not.toContain("two");
});

it("knows a session that a text wakes", () => {
  const wakes = (inject: string[]) => wakesWhenIdle(aRun({ capabilities: { inject } }));

  expect([wakes(["when_idle"]), wakes([])]).toEqual([true, false]);
});

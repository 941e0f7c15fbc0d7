/** A conversation in order of time: messages, the agent's words, permissions. Pure. */
import type { Tap } from "../../sync/taps.svelte";
import type { Conversation, DecisionRow, MessageRow, RunRow } from "../../wire/types";

export type Entry =
  | { kind: "message"; key: string; at: string; row: MessageRow }
  | { kind: "words"; key: string; at: string; row: Conversation["words"][number] }
  | { kind: "settled"; key: string; at: string; row: Conversation["permissions"][number] }
  | { kind: "asks"; key: string; at: string; row: DecisionRow }
  | { kind: "sending"; key: string; at: string; row: Tap };

/**
 * @param conversation as the server sent it
 * @param asks open permission requests, placed where they were made
 * @param taps a person's own messages, which the server may not have confirmed yet
 */
export function entriesOf(
  conversation: Conversation,
  asks: readonly DecisionRow[],
  taps: readonly Tap[],
): Entry[] {
  const known = new Set(conversation.messages.map(({ key }) => key));
  const lines: Entry[] = [
    ...conversation.messages.map((row): Entry => {
      return { kind: "message", key: row.id, at: row.queued_at, row };
    }),
    ...conversation.words.map((row): Entry => {
      return { kind: "words", key: `words-${String(row.seq)}`, at: row.at, row };
    }),
    ...conversation.permissions
      .filter(({ decision }) => !asks.some(({ id }) => id === decision))
      .map((row): Entry => ({ kind: "settled", key: row.decision, at: row.at, row })),
    ...asks.map((row): Entry => ({ kind: "asks", key: row.id, at: row.opened_at, row })),
  ];
  const sending = taps
    .filter(({ key, message }) => message !== undefined && !known.has(key))
    .map((row): Entry => {
      return { kind: "sending", key: row.key, at: new Date(row.madeAt).toISOString(), row };
    });
  return [...lines.sort((a, b) => Date.parse(a.at) - Date.parse(b.at)), ...sending];
}

/** Return whether a message wakes the session while it rests. */
export function wakesWhenIdle(run: RunRow): boolean {
  const ability = run.capabilities["inject"];
  return Array.isArray(ability) && ability.includes("when_idle");
}

/** What a screen reader announces for new cards. Pure. */
import { shell as t } from "../../messages/texts";
import { permissionOf } from "../../format/words";
import type { DecisionRow } from "../../wire/types";

export interface News {
  text: string;
  /** Whether to interrupt the reader, because a held agent waits. */
  urgent: boolean;
}

/** Return the announcement of the cards that are new since the last time; null: none. */
export function newsOf(known: ReadonlySet<string>, open: readonly DecisionRow[]): News | null {
  const fresh = open.filter(({ id }) => !known.has(id));
  const held = fresh.filter((card) => card.holds || permissionOf(card));
  const first = held[0] ?? fresh[0];
  if (!first) return null;
  if (fresh.length > 1) return { text: t.announce.several(fresh.length), urgent: held.length > 0 };
  if (permissionOf(first)) return { text: t.announce.asks(first.run_name), urgent: true };
  return {
    text: first.holds ? t.announce.held(first.run_name) : t.announce.open(first.run_name),
    urgent: first.holds,
  };
}

/** What a screen reader is told of new cards. Pure. */
import { shell as t } from "../../messages/texts";
import { asksFor } from "../../format/words";
import type { DecisionRow } from "../../wire/types";

export interface News {
  text: string;
  /** A held agent waits: that interrupts; all else is said when there is a pause. */
  urgent: boolean;
}

/** Say which cards are new since the last time; null: none. */
export function newsOf(known: ReadonlySet<string>, open: readonly DecisionRow[]): News | null {
  const fresh = open.filter(({ id }) => !known.has(id));
  const held = fresh.filter((card) => card.holds || asksFor(card));
  const first = held[0] ?? fresh[0];
  if (!first) return null;
  if (fresh.length > 1) return { text: t.announce.several(fresh.length), urgent: held.length > 0 };
  if (asksFor(first)) return { text: t.announce.asks(first.run_name), urgent: true };
  return {
    text: first.holds ? t.announce.held(first.run_name) : t.announce.open(first.run_name),
    urgent: first.holds,
  };
}

/** One answer to several cards: which of them offer it, and which do not. Pure. */
import type { DecisionRow } from "../wire/types";

/** Answers that can be given to several cards at once: they need no text and no amount. */
export const BULK_ACTIONS = ["continue", "terminate"] as const;
export type BulkAction = (typeof BULK_ACTIONS)[number];

export interface ActionSplit {
  can: readonly DecisionRow[];
  /** Selected cards without this answer, such as a budget's or of an agent that cannot. */
  cannot: readonly DecisionRow[];
}

export function splitByAction(chosen: readonly DecisionRow[], action: BulkAction): ActionSplit {
  const offers = ({ actions }: DecisionRow) => actions.includes(action);
  return { can: chosen.filter(offers), cannot: chosen.filter((card) => !offers(card)) };
}

/** Group the taps of one press into one bar, as long as they have the same state. */
export function groupTaps<
  Tapped extends { key: string; phase: string; together?: string | undefined },
>(taps: readonly Tapped[]): Tapped[][] {
  const bars = new Map<string, Tapped[]>();
  for (const tap of taps) {
    const name = tap.together ? `${tap.together} ${tap.phase}` : tap.key;
    bars.set(name, [...(bars.get(name) ?? []), tap]);
  }
  return [...bars.values()];
}

/** One answer to several cards: which of them can take it, and which cannot. Pure. */
import type { DecisionRow } from "../wire/types";

/** What may be answered for several at once: it needs no text and no amount. */
export const TOGETHER = ["continue", "terminate"] as const;
export type Together = (typeof TOGETHER)[number];

export interface Share {
  can: readonly DecisionRow[];
  /** Selected, but it does not offer this answer: a budget's card, an agent that cannot. */
  cannot: readonly DecisionRow[];
}

export function shareOf(chosen: readonly DecisionRow[], action: Together): Share {
  const offers = ({ actions }: DecisionRow) => actions.includes(action);
  return { can: chosen.filter(offers), cannot: chosen.filter((card) => !offers(card)) };
}

/** Taps that one press made stand in one bar, as long as they fare alike. */
export function barsOf<
  Tapped extends { key: string; phase: string; together?: string | undefined },
>(taps: readonly Tapped[]): Tapped[][] {
  const bars = new Map<string, Tapped[]>();
  for (const tap of taps) {
    const name = tap.together ? `${tap.together} ${tap.phase}` : tap.key;
    bars.set(name, [...(bars.get(name) ?? []), tap]);
  }
  return [...bars.values()];
}

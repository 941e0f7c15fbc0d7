/** When an agent takes what is written to it on a card. Pure. */
import type { DecisionRow, InterventionRow } from "../wire/types";

/** Whether it waits at the call that the card holds: the text is then the call's answer. */
export function takesAtOnce(card: DecisionRow | null, row: InterventionRow | null = null): boolean {
  return !!card?.holds && !card.gave_up_at && row?.status !== "unreachable";
}

/** When an agent receives a text that is written on a card. Pure. */
import type { DecisionRow, InterventionRow } from "../wire/types";

/** Return whether the agent waits at the held call, so that the text answers that call. */
export function answersHeldCall(
  card: DecisionRow | null,
  row: InterventionRow | null = null,
): boolean {
  return !!card?.holds && !card.gave_up_at && row?.status !== "unreachable";
}

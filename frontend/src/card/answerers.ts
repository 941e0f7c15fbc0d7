/** When those who may answer a card were told of it. Pure. */
import type { DeliveryRow } from "../wire/types";

/** The first that left; null: none has. */
export function firstToldAt(
  deliveries: readonly Pick<DeliveryRow, "what" | "sent_at">[],
): string | null {
  const times = deliveries.flatMap(({ what, sent_at }) =>
    what === "decision" && sent_at !== null ? [sent_at] : [],
  );
  return times.reduce<string | null>(
    (first, at) => (first === null || Date.parse(at) < Date.parse(first) ? at : first),
    null,
  );
}

/** When the people who may answer a card were notified. Pure. */
import type { DeliveryRow } from "../wire/types";

/** Return when the first notice was sent; null: none was. */
export function firstNotifiedAt(
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

import type { AllowlistRow } from "../../wire/types";

const UNUSED_AFTER_MS = 30 * 86_400_000;

/** Return the entries that have prevented no card for this long. */
export function unusedIn<Entry extends Pick<AllowlistRow, "created_at" | "last_hit_at">>(
  entries: readonly Entry[],
  now: Date,
): Entry[] {
  const isIdle = ({ last_hit_at, created_at }: Entry): boolean =>
    now.getTime() - Date.parse(last_hit_at ?? created_at) > UNUSED_AFTER_MS;
  return entries.filter(isIdle);
}

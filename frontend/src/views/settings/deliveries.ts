/** Deliveries as the page shows them. Pure. */
import type { DeliveryRow } from "../../wire/types";

/** Chips of the page: the key of the text, and the query. */
export const VIEWS = [
  ["all", ""],
  ["waiting", "waiting"],
  ["failed", "failed"],
  ["sent", "sent"],
] as const;
export type View = (typeof VIEWS)[number][0];

const QUIET_MS = 5_000;

/** Return when to read again: soon after the next attempt, or slowly; no event reports it. */
export function readAgainIn(rows: readonly DeliveryRow[], now: number): number {
  const due = rows.flatMap((row) => (row.due_at ? [Date.parse(row.due_at)] : []));
  return due.length === 0
    ? QUIET_MS
    : Math.min(Math.max(Math.min(...due) - now + 1000, 1500), QUIET_MS);
}

/** Return whether a delivery waits in case nobody answers, instead of for a retry. */
export function isLater(row: DeliveryRow): boolean {
  return row.status === "waiting" && row.tries === 0 && row.step_minutes > 0;
}

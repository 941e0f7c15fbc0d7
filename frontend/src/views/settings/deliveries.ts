/** Deliveries as the page shows them. Pure. */
import type { DeliveryRow } from "../../wire/types";

/** Chips of the page: the word's key and what is asked for. */
export const VIEWS = [
  ["all", ""],
  ["waiting", "waiting"],
  ["failed", "failed"],
  ["sent", "sent"],
] as const;
export type View = (typeof VIEWS)[number][0];

const CALM_MS = 5_000;

/** The list is read again a moment after the next try, or calmly: nothing tells of a delivery. */
export function readAgainIn(rows: readonly DeliveryRow[], now: number): number {
  const due = rows.flatMap((row) => (row.due_at ? [Date.parse(row.due_at)] : []));
  return due.length === 0
    ? CALM_MS
    : Math.min(Math.max(Math.min(...due) - now + 1000, 1500), CALM_MS);
}

/** One that waits for people, not for a line: nothing has failed yet. */
export function isLater(row: DeliveryRow): boolean {
  return row.status === "waiting" && row.tries === 0 && row.step_minutes > 0;
}

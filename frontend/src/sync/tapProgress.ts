/** The progress of a tap after it was made, and how long its line is shown. Pure. */
import type { DecisionRow, InterventionRow, RunRow } from "../wire/types";
import type { Tap } from "./taps.svelte";

export type Delivery = "queued" | "delivered" | "acted on" | "not delivered";

/** How long a line is still shown after the agent has acted. */
export const DONE_MS = 4_000;
/** If a tap is queued for longer than this, its line says why. */
export const LONG_STEP_MS = 30_000;

/** `row` is the server's record of the tap; null: there is none yet. */
export function deliveryOf(row: InterventionRow | null): Delivery {
  switch (row?.status) {
    case "delivered":
      return "delivered";
    case "acknowledged":
      return "acted on";
    case "unreachable":
      return "not delivered";
    default:
      return "queued";
  }
}

/** Return whether the tap is a message to an agent outside any card. */
export function isMessage({ action, decision }: Pick<Tap, "action" | "decision">): boolean {
  return action === "inject" && decision === null;
}

/** Return whether the tap's line is still shown: until the agent has acted on it, or, if it was
 *  not delivered, until it is closed. An answer that replaces it has the line instead. */
export function isUnderWay(
  tap: Pick<Tap, "phase">,
  row: InterventionRow | null,
  now: number,
  isOvertaken = false,
): boolean {
  if (tap.phase === "stale" || tap.phase === "failed") return false;
  if (isOvertaken && deliveryOf(row) === "not delivered") return false;
  if (deliveryOf(row) !== "acted on") return true;
  return now - Date.parse(row?.acknowledged_at ?? "") < DONE_MS;
}

/** Whether the agent waited before this answer and works by now: then it can be paused again. */
export function canHoldAgain(
  tap: Pick<Tap, "action" | "decision">,
  card: Pick<DecisionRow, "holds"> | null,
  run: RunRow | null,
): boolean {
  const waited = tap.decision === null ? tap.action === "continue" : card?.holds === true;
  return waited && run?.status === "running" && !("pause" in run.unavailable);
}

const TAKEN_BACK: readonly string[] = ["allowlist", "allow_budget"];
const UNTIL_IT_LEAVES: readonly string[] = ["continue", "inject", "finish"];

/** Allowances can be undone at any time; a Continue or a text until the agent has received it. */
export function canUndo(tap: Pick<Tap, "phase" | "action">, row: InterventionRow | null): boolean {
  if (tap.phase === "counting") return true;
  if (tap.phase !== "asked") return false;
  return (
    TAKEN_BACK.includes(tap.action) ||
    (UNTIL_IT_LEAVES.includes(tap.action) && deliveryOf(row) === "queued")
  );
}

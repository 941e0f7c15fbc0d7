/** Where a tap is after it was made, and how long its line stays. Pure. */
import type { DecisionRow, InterventionRow, RunRow } from "../wire/types";
import type { Tap } from "./taps.svelte";

export type Whereabouts = "queued" | "delivered" | "acted on" | "not delivered";

/** How long a line stays to be read once all is done. */
export const DONE_MS = 4_000;
/** Queued for longer than this, it says why. */
export const LONG_STEP_MS = 30_000;

/** `row` is the server's word on it; null: it has none yet. */
export function whereOf(row: InterventionRow | null): Whereabouts {
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

/** Words to an agent that no card asked for. */
export function isMessage({ action, decision }: Pick<Tap, "action" | "decision">): boolean {
  return action === "inject" && decision === null;
}

/** The line stays until the agent acted on it; what was not delivered stays until it is closed.
 *  One that the next answer took the place of has that one's line. */
export function isUnderWay(
  tap: Pick<Tap, "phase">,
  row: InterventionRow | null,
  now: number,
  isOvertaken = false,
): boolean {
  if (tap.phase === "stale" || tap.phase === "failed") return false;
  if (isOvertaken && whereOf(row) === "not delivered") return false;
  if (whereOf(row) !== "acted on") return true;
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

/** What was given can be taken back at any time; a Continue or a text until the agent has it. */
export function canUndo(tap: Pick<Tap, "phase" | "action">, row: InterventionRow | null): boolean {
  if (tap.phase === "counting") return true;
  if (tap.phase !== "asked") return false;
  return (
    TAKEN_BACK.includes(tap.action) ||
    (UNTIL_IT_LEAVES.includes(tap.action) && whereOf(row) === "queued")
  );
}

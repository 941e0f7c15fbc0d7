/** Which runs the board lists, and which stand above as cards. Pure. */
import type { RunRow } from "../../wire/types";

/** A run that waits at an open card is shown by its card, not among the running. */
export function awaits(run: RunRow): boolean {
  return run.open_decisions > 0 && (run.status === "held" || run.status === "holding");
}

/** Which frames may be shown together with those that follow at once. Pure. */
import type { Frame } from "./reduce";

/** A busy board receives fifty frames a second; drawing each would leave no time to scroll. */
export const BATCH_MS = 100;

/** Turns and meters can wait a moment; what a person may have to answer cannot. */
export function isBatchable(frame: Frame): boolean {
  switch (frame.type) {
    case "batch":
      return frame.events.every(isBatchable);
    case "meters":
    case "turn.recorded":
    case "turn.completed":
      return true;
    default:
      return false;
  }
}

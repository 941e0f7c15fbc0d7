/** Which frames may be shown together with those that follow at once. Pure. */
import type { Frame } from "./reduce";

/** A busy board receives fifty frames a second; drawing each would leave no time to scroll. */
export const GATHER_MS = 100;

/** Turns and meters can wait a moment; what a person may have to answer cannot. */
export function canWait(frame: Frame): boolean {
  switch (frame.type) {
    case "batch":
      return frame.events.every(canWait);
    case "meters":
    case "turn.recorded":
    case "turn.completed":
      return true;
    default:
      return false;
  }
}

/** The request body of a tap, the same for page and service worker. Pure. */

export interface Sendable {
  key: string;
  run: string;
  action: string;
  decision: string | null;
  version: number | null;
  message?: string | undefined;
  /** For a message: the agent of the run that it is for; undefined: all. */
  agent?: string | undefined;
  amount?: Record<string, string | number> | undefined;
  scope?: string | undefined;
  /** For an answer to a permission request: allow exactly this call in the whole run. */
  forRun?: boolean | undefined;
  undoes?: string | undefined;
}

export const TAP = "tap:";
/** A tap that could not be sent for longer than this is probably no longer wanted. */
export const KEPT_FOR_MS = 12 * 3600_000;

export function isFresh(tap: { madeAt: number }, now: number): boolean {
  return now - tap.madeAt < KEPT_FOR_MS;
}

/** Return the body; undefined fields are not sent, because JSON cannot express them. */
export function bodyOf(tap: Sendable): Record<string, unknown> {
  return {
    key: tap.key,
    action: tap.action,
    // Without a version it is about the run, whatever the state of its card.
    decision: tap.version === null ? undefined : (tap.decision ?? undefined),
    version: tap.version ?? undefined,
    message: tap.message || undefined,
    agent: tap.agent,
    amount: tap.amount,
    scope: tap.scope,
    for_run: tap.forRun,
    undoes: tap.undoes,
  };
}

export function pathOfTap(tap: Sendable): string {
  return `runs/${tap.run}/interventions/`;
}

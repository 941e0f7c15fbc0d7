/** A tap as it is sent; the page and the service worker send the same. Pure. */

export interface Sendable {
  key: string;
  run: string;
  action: string;
  decision: string | null;
  version: number | null;
  message?: string | undefined;
  /** Of a message: the only agent of the run that it is for. */
  agent?: string | undefined;
  amount?: Record<string, string | number> | undefined;
  scope?: string | undefined;
  /** Of an answer to a permission: it holds for the very same call in its whole run. */
  forRun?: boolean | undefined;
  undoes?: string | undefined;
}

export const TAP = "tap:";
/** A tap that could not leave for longer than this is not what its person wants by now. */
export const KEPT_FOR_MS = 12 * 3600_000;

export function isFresh(tap: { madeAt: number }, now: number): boolean {
  return now - tap.madeAt < KEPT_FOR_MS;
}

/** What is undefined is not sent: JSON has no word for it. */
export function bodyOf(tap: Sendable): Record<string, unknown> {
  return {
    key: tap.key,
    action: tap.action,
    // Without a version it is about the run, whatever its card says by now.
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

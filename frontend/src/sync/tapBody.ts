/** A tap as it is sent; the page and the service worker send the same. Pure. */

export interface Sendable {
  key: string;
  run: string;
  action: string;
  decision: string | null;
  version: number | null;
  message?: string | undefined;
  amount?: Record<string, string | number> | undefined;
  scope?: string | undefined;
  undoes?: string | undefined;
}

export const TAP = "tap:";
/** A tap that could not leave for longer than this is not what its person wants by now. */
export const KEPT_FOR_MS = 12 * 3600_000;

export function isFresh(tap: { madeAt: number }, now: number): boolean {
  return now - tap.madeAt < KEPT_FOR_MS;
}

export function bodyOf(tap: Sendable): Record<string, unknown> {
  return {
    key: tap.key,
    action: tap.action,
    // Without a version it is about the run, whatever its card says by now.
    ...(tap.decision && tap.version !== null && { decision: tap.decision }),
    ...(tap.version !== null && { version: tap.version }),
    ...(tap.message && { message: tap.message }),
    ...(tap.amount && { amount: tap.amount }),
    ...(tap.scope && { scope: tap.scope }),
    ...(tap.undoes && { undoes: tap.undoes }),
  };
}

export function pathOfTap(tap: Sendable): string {
  return `runs/${tap.run}/interventions/`;
}

/** How long to wait before the next attempt to connect, in milliseconds. */

const FIRST_MS = { min: 50, max: 500 };
const PATIENT_MS = { min: 250, max: 1_000 };
const MAX_MS = 15_000;
/** A restart takes seconds: for about a minute, attempts follow within a second. */
const PATIENT_ATTEMPTS = 90;

/**
 * The first attempt comes within half a second. While the server may be restarting, each
 * further one follows within a second, so that screens reconnect within a second of its
 * return. The waits are random, so that many screens do not reconnect at the same moment.
 * After a minute they double, up to 15 s. `chance` is in [0, 1).
 */
export function waitBefore(attempt: number, chance: number): number {
  if (attempt === 0) return spread(FIRST_MS, chance);
  if (attempt <= PATIENT_ATTEMPTS) return spread(PATIENT_MS, chance);
  const max = Math.min(MAX_MS, PATIENT_MS.max * 2 ** (attempt - PATIENT_ATTEMPTS));
  return spread({ min: max / 2, max }, chance);
}

function spread({ min, max }: { min: number; max: number }, chance: number): number {
  return Math.round(min + (max - min) * chance);
}

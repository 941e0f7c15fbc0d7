/** How long to wait before the next attempt to connect, in milliseconds. */

const FIRST_MS = { least: 50, most: 500 };
const PATIENT_MS = { least: 250, most: 1_000 };
const LONGEST_MS = 15_000;
/** A restart takes seconds: for about a minute, attempts follow within a second. */
const PATIENT_TRIES = 90;

/**
 * The first attempt comes within half a second. While the server may be restarting, each
 * further one follows within a second, so that screens reconnect within a second of its
 * return. The waits are random, so that many screens do not reconnect at the same moment.
 * After a minute they double, up to 15 s. `chance` is in [0, 1).
 */
export function waitBefore(attempt: number, chance: number): number {
  if (attempt === 0) return spread(FIRST_MS, chance);
  if (attempt <= PATIENT_TRIES) return spread(PATIENT_MS, chance);
  const most = Math.min(LONGEST_MS, PATIENT_MS.most * 2 ** (attempt - PATIENT_TRIES));
  return spread({ least: most / 2, most }, chance);
}

function spread({ least, most }: { least: number; most: number }, chance: number): number {
  return Math.round(least + (most - least) * chance);
}

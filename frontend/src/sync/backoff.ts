/** How long to wait before the next try to connect, in milliseconds. */

const FIRST_MS = 250;
const LONGEST_MS = 15_000;

/**
 * The first try comes within a second; then doubling, with jitter so that many
 * screens do not come back in the same moment. `chance` is in [0, 1).
 */
export function waitBefore(attempt: number, chance: number): number {
  const ceiling = Math.min(LONGEST_MS, FIRST_MS * 2 ** (attempt + 1));
  return Math.round(ceiling / 2 + (ceiling / 2) * chance);
}

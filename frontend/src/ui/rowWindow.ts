/** Which rows of a long list are drawn: those in sight, and some beyond. Pure. */

export interface RowWindow {
  from: number;
  to: number;
}

/** Rows drawn above and below what is seen, so that a flick finds them there. */
const BEYOND = 8;

/** `top` is where the list begins, `height` what is seen, both in pixels from the seen edge. */
export function windowOf(count: number, rowPx: number, top: number, height: number): RowWindow {
  const first = Math.floor(-top / rowPx) - BEYOND;
  const last = Math.ceil((height - top) / rowPx) + BEYOND;
  const from = Math.min(count, Math.max(0, first));
  return { from, to: Math.max(from, Math.min(count, last)) };
}

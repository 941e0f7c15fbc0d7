/** Which rows of a long list are drawn: the visible ones, and some beyond. Pure. */

export interface RowWindow {
  from: number;
  to: number;
}

/** Rows drawn above and below the visible ones, so that fast scrolling finds them drawn. */
const BEYOND = 8;

/** `top`: start of the list relative to the visible area; `height`: of that area; in pixels. */
export function windowOf(count: number, rowPx: number, top: number, height: number): RowWindow {
  const first = Math.floor(-top / rowPx) - BEYOND;
  const last = Math.ceil((height - top) / rowPx) + BEYOND;
  const from = Math.min(count, Math.max(0, first));
  return { from, to: Math.max(from, Math.min(count, last)) };
}

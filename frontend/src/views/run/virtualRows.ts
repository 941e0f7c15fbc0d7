/** The positions of the rows in a very long list, nearly all of one height. Pure. */

/** A scroll position: the first visible row, and how many pixels of it are above the view. */
export interface Anchor {
  /** Empty: the position is above the list, `delta` from the top of the page. */
  key: string;
  delta: number;
}

/** Return the scroll position that an entry of the browser's history keeps; null: none. */
export function standingIn(state: unknown, run: string): Anchor | null {
  if (!isObject(state) || !isObject(state.standing)) return null;
  const { run: of, key, delta } = state.standing;
  return of === run && typeof key === "string" && typeof delta === "number" ? { key, delta } : null;
}

function isObject(what: unknown): what is Record<string, unknown> {
  return typeof what === "object" && what !== null;
}

/** A row whose height is not the common one. */
export type OddRow = readonly [index: number, height: number];

export class RowPositions {
  readonly count: number;
  readonly base: number;
  readonly #odd: readonly OddRow[];
  /** For each odd row, what the odd rows before it add to the common height. */
  readonly #extra: readonly number[];

  /** @param odd in order of their index */
  constructor(count: number, base: number, odd: readonly OddRow[] = []) {
    this.count = count;
    this.base = base;
    this.#odd = odd.filter(([index]) => index >= 0 && index < count);
    let sum = 0;
    this.#extra = [0, ...this.#odd.map(([, height]) => (sum += height - base))];
  }

  get total(): number {
    return this.count * this.base + (this.#extra.at(-1) ?? 0);
  }

  heightOf(index: number): number {
    const odd = this.#odd[this.#oddBefore(index)];
    return odd?.[0] === index ? odd[1] : this.base;
  }

  /** Return the distance of a row's upper edge from the top of the list. */
  offsetOf(index: number): number {
    return index * this.base + (this.#extra[this.#oddBefore(index)] ?? 0);
  }

  /** Return the row at a distance from the top; outside the list, the nearest one. */
  indexAt(offset: number): number {
    let [low, high] = [0, this.count - 1];
    while (low < high) {
      const middle = Math.ceil((low + high) / 2);
      if (this.offsetOf(middle) <= offset) low = middle;
      else high = middle - 1;
    }
    return Math.max(0, low);
  }

  /** Return how many odd rows come before a row. */
  #oddBefore(index: number): number {
    let [low, high] = [0, this.#odd.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      if ((this.#odd[middle]?.[0] ?? Infinity) < index) low = middle + 1;
      else high = middle;
    }
    return low;
  }
}

/** Return the rows to draw: the visible ones and some on either side; always the same number. */
export function rowsToDraw(
  rows: RowPositions,
  top: number,
  view: number,
  over: number,
): [from: number, to: number] {
  const most = Math.min(rows.count, Math.ceil(view / rows.base) + 2 * over + 1);
  const from = Math.min(Math.max(0, rows.indexAt(top) - over), rows.count - most);
  return [from, from + most];
}

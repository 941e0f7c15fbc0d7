/**
 * A list that is taller than an element may be, on a page that is not. Pure.
 *
 * Near both ends a pixel of the page is a pixel of the list; between them the page is
 * the shorter one. Whoever scrolls by hand still moves pixel by pixel: what the list is
 * ahead of the page (its *shift*) changes only with a leap, or shortly before an end.
 */

/** In pixels. Firefox ends at 17.9 million, and beyond 2^23 a float has no halves of a pixel. */
export const TALLEST = 8_000_000;
/** So much of the page at either end is true to the list. */
const TRUE_SHARE = 1 / 4;
/** Who moves more screens at once than this did not scroll, but leapt. */
const LEAP_SCREENS = 4;
/** So many screens before an end of the page its place is looked at again. */
const NEAR_SCREENS = 3;

export interface Stand {
  /** Distance from the top of the page's element. */
  page: number;
  /** What the list is ahead of it. */
  shift: number;
}

export class Span {
  /** How tall the element is. */
  readonly tall: number;
  readonly #total: number;
  readonly #edge: number;

  constructor(total: number, tallest = TALLEST) {
    this.tall = Math.min(total, tallest);
    this.#total = total;
    this.#edge = this.tall * TRUE_SHARE;
  }

  get isTrue(): boolean {
    return this.tall === this.#total;
  }

  /** Where the list stands when the scroll bar does here. */
  listAt(page: number): number {
    if (this.isTrue || page <= this.#edge) return page;
    if (page >= this.tall - this.#edge) return page + this.#total - this.tall;
    return this.#edge + (page - this.#edge) * this.#ratio;
  }

  /** Where the scroll bar stands when the list does here. */
  pageAt(list: number): number {
    if (this.isTrue || list <= this.#edge) return list;
    if (list >= this.#total - this.#edge) return list - this.#total + this.tall;
    return this.#edge + (list - this.#edge) / this.#ratio;
  }

  /** Where one stands who brings a place of the list in sight. */
  standAt(list: number): Stand {
    const page = this.pageAt(list);
    return { page, shift: list - page };
  }

  /** Where one stands after the page was scrolled; another `page` than that is to be set. */
  scrolled(before: Stand, page: number, view: number): Stand {
    if (this.isTrue) return { page, shift: 0 };
    if (Math.abs(page - before.page) > LEAP_SCREENS * view)
      return { page, shift: this.listAt(page) - page };
    const near = NEAR_SCREENS * view;
    if (page > near && page < this.tall - view - near) return { page, shift: before.shift };
    const list = Math.min(Math.max(page + before.shift, Math.min(page, 0)), this.#total);
    return this.standAt(list);
  }

  /** Pixels of the list to one of the page, between the ends. */
  get #ratio(): number {
    return (this.#total - 2 * this.#edge) / (this.tall - 2 * this.#edge);
  }
}

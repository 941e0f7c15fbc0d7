/**
 * Maps a list that is taller than an element may be to a shorter page. Pure.
 *
 * Near both ends a pixel of the page is a pixel of the list; between them a page pixel
 * stands for several. Scrolling by hand still moves pixel by pixel: the distance that the
 * list is ahead of the page (its *shift*) changes only with a leap, or shortly before an end.
 */

/** In pixels. Firefox allows 17.9 million, and above 2^23 a float has no half pixels. */
export const MAX_HEIGHT = 8_000_000;
/** The share of the page at either end in which its pixels are those of the list. */
const TRUE_SHARE = 1 / 4;
/** A move of more screens than this is a leap, not scrolling. */
const LEAP_SCREENS = 4;
/** This many screens before an end of the page, the shift is computed again. */
const NEAR_SCREENS = 3;

export interface ScrollOffset {
  /** Distance from the top of the page's element, in pixels. */
  page: number;
  /** How far the list is ahead of `page`. */
  shift: number;
}

export class ScrollSpan {
  /** How tall the element is. */
  readonly tall: number;
  readonly #total: number;
  readonly #edge: number;

  constructor(total: number, tallest = MAX_HEIGHT) {
    this.tall = Math.min(total, tallest);
    this.#total = total;
    this.#edge = this.tall * TRUE_SHARE;
  }

  get isTrue(): boolean {
    return this.tall === this.#total;
  }

  /** Return the position in the list for a position of the scroll bar. */
  listAt(page: number): number {
    if (this.isTrue || page <= this.#edge) return page;
    if (page >= this.tall - this.#edge) return page + this.#total - this.tall;
    return this.#edge + (page - this.#edge) * this.#ratio;
  }

  /** Return the position of the scroll bar for a position in the list. */
  pageAt(list: number): number {
    if (this.isTrue || list <= this.#edge) return list;
    if (list >= this.#total - this.#edge) return list - this.#total + this.tall;
    return this.#edge + (list - this.#edge) / this.#ratio;
  }

  /** Return the position that shows a place of the list. */
  standAt(list: number): ScrollOffset {
    const page = this.pageAt(list);
    return { page, shift: list - page };
  }

  /** Return the position after the page was scrolled; if `page` differs, the caller must set it. */
  scrolled(before: ScrollOffset, page: number, view: number): ScrollOffset {
    if (this.isTrue) return { page, shift: 0 };
    if (Math.abs(page - before.page) > LEAP_SCREENS * view)
      return { page, shift: this.listAt(page) - page };
    const near = NEAR_SCREENS * view;
    if (page > near && page < this.tall - view - near) return { page, shift: before.shift };
    const list = Math.min(Math.max(page + before.shift, Math.min(page, 0)), this.#total);
    return this.standAt(list);
  }

  /** Pixels of the list per pixel of the page, between the ends. */
  get #ratio(): number {
    return (this.#total - 2 * this.#edge) / (this.tall - 2 * this.#edge);
  }
}

/** The position of a list in its scrolling container, read at most once per frame. */
import { windowOf, type RowWindow } from "./rowWindow";

export class ScrollPosition {
  #top = $state.raw(0);
  #height = $state.raw(globalThis.innerHeight);
  #rowPx = $state.raw(0);
  #frame = 0;

  /** `rowPx`: the assumed height of a row until one has been drawn and measured. */
  constructor(rowPx: number) {
    this.#rowPx = rowPx;
  }

  get rowPx(): number {
    return this.#rowPx;
  }

  window(count: number): RowWindow {
    return windowOf(count, this.#rowPx, this.#top, this.#height);
  }

  /** An action for the element that contains the rows. */
  readonly watch = (node: HTMLElement): { destroy: () => void } => {
    const around = scroller(node);
    const look = (): void => this.#look(node, around);
    const asked = (): void => {
      this.#frame ||= requestAnimationFrame(look);
    };
    // Content that grows above the list moves it without scrolling.
    const grown = new ResizeObserver(asked);
    for (const element of [node, around ?? document.body, ...(around?.children ?? [])])
      grown.observe(element);
    addEventListener("scroll", asked, { capture: true, passive: true });
    addEventListener("resize", asked);
    look();
    return {
      destroy: () => {
        cancelAnimationFrame(this.#frame);
        grown.disconnect();
        removeEventListener("scroll", asked, { capture: true });
        removeEventListener("resize", asked);
      },
    };
  };

  #look(node: HTMLElement, around: HTMLElement | null): void {
    this.#frame = 0;
    this.#rowPx = node.querySelector<HTMLElement>("[data-row]")?.offsetHeight || this.#rowPx;
    const edge = around?.getBoundingClientRect().top ?? 0;
    this.#top = node.getBoundingClientRect().top - edge;
    this.#height = around?.clientHeight ?? innerHeight;
  }
}

function scroller(node: HTMLElement): HTMLElement | null {
  for (
    let above = node.parentElement;
    above && above !== document.body;
    above = above.parentElement
  ) {
    if (/auto|scroll/.test(getComputedStyle(above).overflowY)) return above;
  }
  return null;
}

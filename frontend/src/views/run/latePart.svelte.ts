/** A part that comes after what is around it: what was asked of it before is done when it is here. */
export class LatePart<Part> {
  #part = $state.raw<Part>();
  #asked: ((part: Part) => void) | null = null;

  /** For `bind:this`. */
  get here(): Part | undefined {
    return this.#part;
  }
  set here(part: Part | undefined) {
    this.#part = part;
    if (part) this.#asked?.(part);
    this.#asked = null;
  }

  /** The last that is asked of a part that is not here counts. */
  ask(act: (part: Part) => void): void {
    if (this.#part) act(this.#part);
    else this.#asked = act;
  }
}

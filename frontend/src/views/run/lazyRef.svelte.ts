/** A part that is loaded after its surroundings; an earlier request is carried out then. */
export class LazyRef<Part> {
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

  /** Carry out a request now, or once the part is loaded; only the last one counts. */
  ask(act: (part: Part) => void): void {
    if (this.#part) act(this.#part);
    else this.#asked = act;
  }
}

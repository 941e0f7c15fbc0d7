/** One object of the REST API, read again when asked. A newer question makes an older answer void. */
import { ProblemError, read } from "../wire/api";

export class Reading<Told> {
  #told = $state.raw<Told | null>(null);
  #failed = $state.raw(false);
  #missing = $state.raw(false);
  #path = "";
  /** The question that was answered last. */
  #of = "";
  #asked = 0;

  /** The last answer; it stays while the next one is fetched, and when the same is asked in vain. */
  get told(): Told | null {
    return this.#told;
  }
  get failed(): boolean {
    return this.#failed;
  }
  /** The server said that there is no such thing. */
  get missing(): boolean {
    return this.#missing;
  }

  /** Ask once more what was asked last. */
  again(): Promise<void> {
    return this.load(this.#path);
  }

  async load(path: string): Promise<void> {
    const asked = ++this.#asked;
    this.#path = path;
    try {
      const told = await read<Told>(path);
      if (asked !== this.#asked) return;
      this.#told = told;
      this.#of = path;
      this.#failed = this.#missing = false;
    } catch (error) {
      if (asked !== this.#asked) return;
      if (path !== this.#of) this.#told = null;
      this.#failed = true;
      this.#missing = error instanceof ProblemError && error.status === 404;
    }
  }
}

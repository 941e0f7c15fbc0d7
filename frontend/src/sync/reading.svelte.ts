/** One object of the REST API, read again when asked. A newer question makes an older answer void. */
import { ProblemError, read } from "../wire/api";

export class Reading<Told> {
  #told = $state.raw<Told | null>(null);
  #failed = $state.raw(false);
  #missing = $state.raw(false);
  #asked = 0;

  /** The last answer; it stays while the next one is fetched. */
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

  async load(path: string): Promise<void> {
    const asked = ++this.#asked;
    try {
      const told = await read<Told>(path);
      if (asked !== this.#asked) return;
      this.#told = told;
      this.#failed = this.#missing = false;
    } catch (error) {
      if (asked !== this.#asked) return;
      this.#failed = true;
      this.#missing = error instanceof ProblemError && error.status === 404;
    }
  }
}

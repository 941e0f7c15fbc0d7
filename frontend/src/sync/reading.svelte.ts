/** One object of the REST API, read again when asked. A newer question makes an older answer void. */
import { ProblemError, read } from "../wire/api";

export class Reading<Data> {
  #data = $state.raw<Data | null>(null);
  #failed = $state.raw(false);
  #missing = $state.raw(false);
  #path = "";
  /** The question that was answered last. */
  #of = "";
  #asked = 0;

  /** The last answer; it stays while the next one is fetched, and when the same is asked in vain. */
  get data(): Data | null {
    return this.#data;
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
      const data = await read<Data>(path);
      if (asked !== this.#asked) return;
      this.#data = data;
      this.#of = path;
      this.#failed = this.#missing = false;
    } catch (error) {
      if (asked !== this.#asked) return;
      if (path !== this.#of) this.#data = null;
      this.#failed = true;
      this.#missing = error instanceof ProblemError && error.status === 404;
    }
  }
}

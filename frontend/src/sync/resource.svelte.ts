/** One object of the REST API. A newer request discards the answer to an older one. */
import { ProblemError, read } from "../wire/api";

export class Resource<Data> {
  #data = $state.raw<Data | null>(null);
  #failed = $state.raw(false);
  #missing = $state.raw(false);
  #path = "";
  /** The path that was answered last. */
  #of = "";
  #asked = 0;

  /** The last answer; it stays while the next is fetched, and if the same path then fails. */
  get data(): Data | null {
    return this.#data;
  }
  get failed(): boolean {
    return this.#failed;
  }
  /** Whether the server answered that it does not exist. */
  get missing(): boolean {
    return this.#missing;
  }

  /** Repeat the last request. */
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

/** One paged list of the REST API. A newer question makes an older answer void. */
import { pathOf, ProblemError, read } from "../wire/api";
import type { Page } from "../wire/types";

export class Lister<Row> {
  #rows = $state.raw<readonly Row[]>([]);
  #next = $state.raw<string | null>(null);
  #loading = $state.raw(false);
  #loaded = $state.raw(false);
  #failed = $state.raw(false);
  #problem = $state.raw("");
  #asked = 0;

  get rows(): readonly Row[] {
    return this.#rows;
  }
  get next(): string | null {
    return this.#next;
  }
  get loading(): boolean {
    return this.#loading;
  }
  get loaded(): boolean {
    return this.#loaded;
  }
  get failed(): boolean {
    return this.#failed;
  }

  /** What the server said of a question it refused; "" otherwise. */
  get problem(): string {
    return this.#problem;
  }

  load(path: string): Promise<void> {
    return this.#fetch(path, () => []);
  }

  async more(): Promise<void> {
    if (this.#next) await this.#fetch(pathOf(this.#next), () => this.#rows);
  }

  async #fetch(path: string, before: () => readonly Row[]): Promise<void> {
    const asked = ++this.#asked;
    this.#loading = true;
    try {
      const page = await read<Page<Row>>(path);
      if (asked !== this.#asked) return;
      this.#rows = [...before(), ...page.results];
      this.#next = page.next;
      this.#loaded = true;
      this.#failed = false;
      this.#problem = "";
    } catch (error) {
      if (asked === this.#asked) this.#fail(error);
    } finally {
      if (asked === this.#asked) this.#loading = false;
    }
  }

  #fail(error: unknown): void {
    this.#failed = true;
    this.#problem = error instanceof ProblemError && error.status === 400 ? error.message : "";
  }
}

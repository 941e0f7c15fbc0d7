/** One paged list of the REST API. A newer question makes an older answer void. */
import { pathOf, read } from "../wire/api";
import type { Page } from "../wire/types";

export class Lister<Row> {
  #rows = $state.raw<readonly Row[]>([]);
  #next = $state.raw<string | null>(null);
  #loading = $state.raw(false);
  #loaded = $state.raw(false);
  #failed = $state.raw(false);
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
    } catch {
      if (asked === this.#asked) this.#failed = true;
    } finally {
      if (asked === this.#asked) this.#loading = false;
    }
  }
}

/** One paged list of the REST API. A newer request discards the answer to an older one. */
import { refused } from "../messages/refused";
import { pathOf, ProblemError, read } from "../wire/api";
import type { Page } from "../wire/types";

interface Question {
  path: string;
  /** The path of the first page; further pages belong to it. */
  of: string;
  isMore: boolean;
}

export class PagedList<Row> {
  #rows = $state.raw<readonly Row[]>([]);
  #next = $state.raw<string | null>(null);
  #loading = $state.raw(false);
  #loaded = $state.raw(false);
  #failed = $state.raw(false);
  #problem = $state.raw("");
  #last: Question | null = null;
  /** The path that the rows answer. */
  #of = "";
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

  /** The server's reason for refusing the request; "" otherwise. */
  get problem(): string {
    return this.#problem;
  }

  load(path: string): Promise<void> {
    return this.#fetch({ path, of: path, isMore: false });
  }

  async more(): Promise<void> {
    if (this.#next) await this.#fetch({ path: pathOf(this.#next), of: this.#of, isMore: true });
  }

  /** Repeat the last request. */
  async again(): Promise<void> {
    if (this.#last) await this.#fetch(this.#last);
  }

  async #fetch(question: Question): Promise<void> {
    const asked = ++this.#asked;
    this.#last = question;
    this.#loading = true;
    try {
      const page = await read<Page<Row>>(question.path);
      if (asked !== this.#asked) return;
      this.#rows = question.isMore ? [...this.#rows, ...page.results] : page.results;
      this.#of = question.of;
      this.#next = page.next;
      this.#loaded = true;
      this.#failed = false;
      this.#problem = "";
    } catch (error) {
      const isRefused = error instanceof ProblemError && error.status === 400;
      const why = isRefused ? await refused(error, "") : "";
      if (asked === this.#asked) this.#fail(why, question);
    } finally {
      if (asked === this.#asked) this.#loading = false;
    }
  }

  /** Drop the rows of another request: they are no answer to this one. */
  #fail(why: string, question: Question): void {
    if (question.of !== this.#of) [this.#rows, this.#next, this.#loaded] = [[], null, false];
    this.#failed = true;
    this.#problem = why;
  }
}

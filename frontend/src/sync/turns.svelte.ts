/** Fetch a run's turns in pages and bring them in beside the live ones. */
import { pathOf, query, read } from "../wire/api";
import type { AutofixRow, Page, RunRow, TurnRow } from "../wire/types";
import type { Feed } from "./feed.svelte";

const PAGE = 200;
/** Turns that may have been proposed when we last looked, and are done by now. */
const OVERLAP = 20;

export class TurnPages {
  #loading = $state.raw(false);
  #failed = $state.raw(false);
  #loaded = $state.raw(false);
  readonly #run: string;
  readonly #feed: Feed;

  constructor(run: string, feed: Feed) {
    this.#run = run;
    this.#feed = feed;
  }

  get loading(): boolean {
    return this.#loading;
  }
  get failed(): boolean {
    return this.#failed;
  }
  /** The newest page has come at least once. */
  get loaded(): boolean {
    return this.#loaded;
  }
  get first(): number | null {
    return Math.min(...this.#feed.state.turns.keys(), Infinity) || 0;
  }
  get hasEarlier(): boolean {
    return this.#loaded && Number.isFinite(this.first) && (this.first ?? 0) > 0;
  }

  /** Fetch what is newer than what stands here; at first, the newest page. */
  catchUp(run: RunRow): Promise<void> {
    const known = Math.max(...this.#feed.state.turns.keys(), -1);
    const after = Math.max(-1, run.turns - PAGE - 1, this.#loaded ? known - OVERLAP : -1);
    return this.#fetch(Math.min(after, this.#loaded ? known : after), PAGE, true);
  }

  /** What was injected without a tap; a run that never ran in `auto` has none. */
  async fetchAutofixes(run: RunRow): Promise<void> {
    try {
      const path = `autofixes/${query({ project: run.project, limit: "100" })}`;
      const page = await read<Page<AutofixRow>>(path);
      const rows = page.results.filter((fix) => fix.run === run.id);
      this.#feed.take({ type: "autofixes.fetched", rows });
    } catch {
      // the live events still bring new ones
    }
  }

  loadEarlier(): Promise<void> {
    const first = this.first ?? 0;
    const after = Math.max(-1, first - PAGE - 1);
    return this.#fetch(after, first - after - 1, false);
  }

  async #fetch(after: number, limit: number, onward: boolean): Promise<void> {
    if (this.#loading) return;
    this.#loading = true;
    try {
      await this.#pages(after, limit, onward);
      this.#failed = false;
      this.#loaded = true;
    } catch {
      this.#failed = true;
    } finally {
      this.#loading = false;
    }
  }

  async #pages(after: number, limit: number, onward: boolean): Promise<void> {
    const search = query({ after_seq: after < 0 ? null : String(after), limit: String(limit) });
    let path: string | null = `runs/${this.#run}/turns/${search}`;
    while (path) {
      const page: Page<TurnRow> = await read<Page<TurnRow>>(path);
      this.#feed.take({ type: "turns.fetched", rows: page.results });
      path = onward && page.next ? pathOf(page.next) : null;
    }
  }
}

/** Fetch a run's turns as they become visible, besides live ones; drop those far away. */
import { query, read } from "../wire/api";
import type { AutofixRow, Page, RunRow, TurnRow } from "../wire/types";
import type { Feed } from "./feed.svelte";

/** Turns per request; as many are kept on either side of the visible ones. */
const PAGE = 100;
/** The most turns kept in memory. */
const MAX_TURNS = 1_200;
/** The newest turns are always kept: they change, and one key jumps to the end. */
const TAIL = 200;
/** During fast scrolling nothing is fetched. */
const PAUSE_MS = 60;

export class TurnPages {
  #failed = $state.raw(false);
  #loaded = $state.raw(false);
  #flying = $state.raw(0);
  readonly #run: string;
  readonly #feed: Feed;
  #wanted: readonly number[] = [];
  #asked = new Set<number>();
  #timer: ReturnType<typeof setTimeout> | undefined;

  constructor(run: string, feed: Feed) {
    this.#run = run;
    this.#feed = feed;
  }

  get loading(): boolean {
    return this.#flying > 0;
  }
  get failed(): boolean {
    return this.#failed;
  }
  /** Whether turns have arrived at least once. */
  get loaded(): boolean {
    return this.#loaded;
  }

  /** Note the visible turns, in order, and fetch missing ones once scrolling stops. */
  want(seqs: readonly number[]): void {
    this.#wanted = seqs;
    if (this.#missing().length === 0) return;
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => void this.#fetchMissing(), this.#loaded ? PAUSE_MS : 0);
  }

  /** Events may have been missed: fetch visible turns again now, others when they are visible. */
  refresh(): void {
    const { turns } = this.#feed.state;
    const sight = new Set(this.#wanted);
    this.#forget([...turns.keys()].filter((seq) => !sight.has(seq)));
    if (this.#wanted.length > 0) void this.#fetch(this.#wanted);
    else this.#loaded = true;
  }

  /** Fetch what was injected without a tap; only runs that were in mode `auto` have any. */
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

  #missing(): number[] {
    const { turns } = this.#feed.state;
    return this.#wanted.filter((seq) => !turns.has(seq) && !this.#asked.has(seq));
  }

  async #fetchMissing(): Promise<void> {
    const missing = this.#missing();
    if (missing.length > 0) await this.#fetch(missing);
  }

  async #fetch(seqs: readonly number[]): Promise<void> {
    for (const seq of seqs) this.#asked.add(seq);
    this.#flying++;
    try {
      const page = await read<Page<TurnRow>>(`runs/${this.#run}/turns/${pageOf(seqs)}`);
      this.#feed.take({ type: "turns.fetched", rows: page.results });
      this.#failed = false;
      this.#loaded = true;
      this.#forgetFar();
    } catch {
      this.#failed = true;
    } finally {
      this.#flying--;
      for (const seq of seqs) this.#asked.delete(seq);
    }
    // The list may have been scrolled meanwhile.
    if (!this.#failed) this.want(this.#wanted);
  }

  #forgetFar(): void {
    const { turns, runs } = this.#feed.state;
    if (turns.size <= MAX_TURNS) return;
    const [first = 0, last = 0] = [this.#wanted[0], this.#wanted.at(-1)];
    const [low, high] = [Math.min(first, last) - PAGE, Math.max(first, last) + PAGE];
    const tail = (runs.get(this.#run)?.turns ?? 0) - TAIL;
    const sight = new Set(this.#wanted);
    const far = [...turns.values()].filter(
      ({ seq, phase }) =>
        seq < tail && (seq < low || seq > high) && !sight.has(seq) && phase === "done",
    );
    // First drop what lies between filtered turns, then the rest.
    this.#forget(far.map(({ seq }) => seq));
  }

  #forget(seqs: readonly number[]): void {
    if (seqs.length > 0) this.#feed.take({ type: "turns.forgotten", seqs });
  }
}

/** Ask for one window if the turns are close together, otherwise for single numbers. */
function pageOf(seqs: readonly number[]): string {
  const [first, last] = [Math.min(...seqs), Math.max(...seqs)];
  const wide = last - first + 1;
  if (wide > 3 * PAGE) return query({ seqs: seqs.slice(0, 500).join(",") });
  const room = Math.max(0, Math.ceil((PAGE - wide) / 2));
  const after = Math.max(-1, first - 1 - room);
  return query({
    after_seq: String(after),
    before_seq: String(last + 1 + room),
    limit: String(last + room - after),
  });
}

/** Fetch a run's turns as they come in sight, beside the live ones; forget those far away. */
import { query, read } from "../wire/api";
import type { AutofixRow, Page, RunRow, TurnRow } from "../wire/types";
import type { Feed } from "./feed.svelte";

/** Turns of one request; as many on either side of what is in sight are kept. */
const PAGE = 100;
/** More than these are not kept in memory. */
const MOST = 1_200;
/** The newest are kept: they change, and the end is a key away. */
const TAIL = 200;
/** While the list flies past, nothing is fetched. */
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
  /** Turns have come at least once. */
  get loaded(): boolean {
    return this.#loaded;
  }

  /** These are in sight, in order: fetch what is missing once the list rests. */
  want(seqs: readonly number[]): void {
    this.#wanted = seqs;
    if (this.#missing().length === 0) return;
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => void this.#fetchMissing(), this.#loaded ? PAUSE_MS : 0);
  }

  /** Something may have been missed: what is in sight is fetched anew, the rest when it is seen. */
  refresh(): void {
    const { turns } = this.#feed.state;
    const sight = new Set(this.#wanted);
    this.#forget([...turns.keys()].filter((seq) => !sight.has(seq)));
    if (this.#wanted.length > 0) void this.#fetch(this.#wanted);
    else this.#loaded = true;
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
    // The list may have moved on meanwhile.
    if (!this.#failed) this.want(this.#wanted);
  }

  #forgetFar(): void {
    const { turns, runs } = this.#feed.state;
    if (turns.size <= MOST) return;
    const [first = 0, last = 0] = [this.#wanted[0], this.#wanted.at(-1)];
    const [low, high] = [Math.min(first, last) - PAGE, Math.max(first, last) + PAGE];
    const tail = (runs.get(this.#run)?.turns ?? 0) - TAIL;
    const sight = new Set(this.#wanted);
    const far = [...turns.values()].filter(
      ({ seq, phase }) =>
        seq < tail && (seq < low || seq > high) && !sight.has(seq) && phase === "done",
    );
    // What lies between filtered turns goes first, then the rest.
    this.#forget(far.map(({ seq }) => seq));
  }

  #forget(seqs: readonly number[]): void {
    if (seqs.length > 0) this.#feed.take({ type: "turns.forgotten", seqs });
  }
}

/** One window where the turns stand close together, else by their numbers. */
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

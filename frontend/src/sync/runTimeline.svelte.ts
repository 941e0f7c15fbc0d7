/** The course of a run: its series, kinds of turns, positions of pins, and hand-offs. */
import { query, read } from "../wire/api";
import type { HandOffs, MomentRow, Page, RunFacets, RunSeries } from "../wire/types";

const POINTS = 300;
const PAUSE_MS = 2_000;
/** A slow answer is fetched less often. */
const REST = 10;

export class RunTimeline {
  #series = $state.raw<RunSeries | null>(null);
  #facets = $state.raw<RunFacets | null>(null);
  #handOffs = $state.raw<HandOffs | null>(null);
  #places = $state.raw<ReadonlyMap<string, number>>(new Map());
  #view = $state.raw<readonly [from: number, to: number] | null>(null);
  #failed = $state.raw(false);
  readonly #run: string;
  #timer: ReturnType<typeof setTimeout> | undefined;
  #restUntil = 0;
  #round = 0;

  constructor(run: string) {
    this.#run = run;
  }

  get series(): RunSeries | null {
    return this.#series;
  }
  get facets(): RunFacets | null {
    return this.#facets;
  }
  get handOffs(): HandOffs | null {
    return this.#handOffs;
  }
  get failed(): boolean {
    return this.#failed;
  }
  /** The turns that are zoomed in on; null: all of them. */
  get view(): readonly [from: number, to: number] | null {
    return this.#view;
  }
  /** Return the turn at a time; null: not known yet. */
  placeOf(at: string): number | null {
    return this.#places.get(at) ?? null;
  }

  /** Fetch again because the run advanced; the slower the answers, the less often. */
  follow(): void {
    const wait = Math.max(0, this.#restUntil - Date.now());
    this.#timer ??= setTimeout(() => void this.#fetch(), wait);
  }

  /** Repeat what failed, at once. */
  again(): Promise<void> {
    return this.#fetch();
  }

  zoom(view: readonly [from: number, to: number] | null): void {
    this.#view = view;
    void this.#fetch();
  }

  async place(moments: readonly string[]): Promise<void> {
    const unknown = moments.filter((at) => !this.#places.has(at)).slice(-100);
    if (unknown.length === 0) return;
    try {
      const search = new URLSearchParams(unknown.map((at) => ["at", at]));
      const found = await read<Page<MomentRow>>(`runs/${this.#run}/moments/?${search.toString()}`);
      // The server may write a time differently, so match by order.
      const seqs = found.results.map(({ seq }, i) => [unknown[i] ?? "", seq] as const);
      this.#places = new Map([...this.#places, ...seqs]);
    } catch {
      // then the pins are drawn at the end
    }
  }

  stop(): void {
    clearTimeout(this.#timer);
    this.#round++;
  }

  async #fetch(): Promise<void> {
    clearTimeout(this.#timer);
    const round = ++this.#round;
    const began = Date.now();
    this.#restUntil = began + PAUSE_MS;
    this.#timer = undefined;
    try {
      const [from, to] = this.#view ?? [null, null];
      const search = query({ points: String(POINTS), from_seq: textOf(from), to_seq: textOf(to) });
      const series = await read<RunSeries>(`runs/${this.#run}/series/${search}`);
      if (round !== this.#round) return;
      this.#series = series;
      this.#failed = false;
      this.#facets = await read<RunFacets>(`runs/${this.#run}/facets/`);
      if (this.#facets.agents.length > 1)
        this.#handOffs = await read<HandOffs>(`runs/${this.#run}/hand-offs/`);
    } catch {
      this.#failed = true;
    }
    this.#restUntil = Math.max(this.#restUntil, Date.now() + REST * (Date.now() - began));
  }
}

function textOf(seq: number | null): string | null {
  return seq === null ? null : String(seq);
}

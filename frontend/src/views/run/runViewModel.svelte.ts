/** The state of the page of one run: filters, folded loops, the selected turn. */
import { isIn, nthOf, rankOf, type Range } from "../../format/ranges";
import { filterOf, hasFilters, matches, paramsOf, type Filter } from "../../format/turnFilter";
import { runPath, turnPath } from "../../route";
import { router } from "../../router.svelte";
import type { Feed } from "../../sync/feed.svelte";
import { Matches } from "../../sync/matches.svelte";
import { isOpen } from "../../sync/reduce";
import { permissionOf, hasEnded } from "../../format/words";
import { RunTimeline } from "../../sync/runTimeline.svelte";
import { TurnPages } from "../../sync/turns.svelte";
import { appState } from "../../sync/appState.svelte";
import { query } from "../../wire/api";
import type { RunRow, TurnRow } from "../../wire/types";
import { TurnRows, type PlacedPin } from "./turnRows";
import { loopsOf, pinsOf, type Pin } from "./timeline";
import type { Anchor } from "./virtualRows";

export class RunViewModel {
  readonly id: string;
  readonly feed: Feed;
  readonly pages: TurnPages;
  readonly timeline: RunTimeline;
  /** The turns that match the filter, and those of them that contain the searched words. */
  readonly narrow: Matches;
  readonly hits: Matches;
  #folded = $state.raw<ReadonlySet<string>>(new Set());
  #open = $state.raw<number | null>(null);
  #beyond = $state.raw(false);

  readonly #run = $derived.by(() => appState.run(this.id));
  readonly #cards = $derived.by(() => [...this.feed.state.decisions.values()]);
  readonly #asks = $derived(this.#cards.filter((one) => isOpen(one) && permissionOf(one) !== null));
  readonly #card = $derived(
    this.#cards.find((one) => isOpen(one) && permissionOf(one) === null) ?? this.#asks[0] ?? null,
  );
  readonly #turns = $derived.by(() =>
    [...this.feed.state.turns.values()].sort((a, b) => a.seq - b.seq),
  );
  readonly #count = $derived(Math.max(this.#run?.turns ?? 0, (this.#turns.at(-1)?.seq ?? -1) + 1));
  readonly #loops = $derived(loopsOf(this.#cards, this.#turns));
  readonly #filter = $derived.by(() => filterOf(router.search));
  readonly #pins = $derived.by(() =>
    pinsOf(this.feed.state.interventions.values(), this.feed.state.autofixes.values()),
  );
  readonly #isWhole = $derived(!hasFilters(this.#filter) && !this.#showsOnly());
  readonly #ranges = $derived.by(() => this.#rangesShown());

  constructor(id: string, feed: Feed) {
    this.id = id;
    this.feed = feed;
    this.pages = new TurnPages(id, feed);
    this.timeline = new RunTimeline(id);
    this.narrow = new Matches(id);
    this.hits = new Matches(id);
  }

  get run(): RunRow | null {
    return this.#run;
  }
  /** The open card; one about a loop before a permission request. */
  get card() {
    return this.#card;
  }
  /** The open permission requests. */
  get asks() {
    return this.#asks;
  }
  /** Whether the run has not ended, or has messages. */
  get hasConversation(): boolean {
    const { run } = this;
    const hasMessages = [...this.feed.state.interventions.values()].some(({ message }) => message);
    return run !== null && (hasMessages || !hasEnded(run));
  }
  /** Whether a message can be sent to its agent now. */
  get canMessage(): boolean {
    const { run } = this;
    return run !== null && run.status === "running" && !("inject" in run.unavailable);
  }
  get turns(): readonly TurnRow[] {
    return this.#turns;
  }
  get count(): number {
    return this.#count;
  }
  get loops() {
    return this.#loops;
  }
  get filter(): Filter {
    return this.#filter;
  }
  get pins(): readonly Pin[] {
    return this.#pins;
  }
  get folded(): ReadonlySet<string> {
    return this.#folded;
  }
  /** The turn in the address. */
  get chosen(): number | null {
    const { route } = router;
    return route.name === "run" ? route.turn : null;
  }
  /** The turn shown in full within the list. */
  get opened(): number | null {
    return this.#open;
  }

  /** Whether the address names a turn after the last one, which is shown instead. */
  get beyond(): boolean {
    return this.#beyond;
  }

  turn(seq: number): TurnRow | null {
    return this.feed.state.turns.get(seq) ?? null;
  }

  isHit(seq: number): boolean {
    return this.#filter.q.trim() !== "" && isIn(this.hits.ranges, seq);
  }

  turnRows(newestFirst = false): TurnRows {
    const whole = this.#isWhole;
    return new TurnRows({
      ranges: this.#ranges,
      loops: this.#loops,
      pins: whole ? this.#placed() : [],
      folded: this.#folded,
      titled: whole && !newestFirst,
      newestFirst,
    });
  }

  // --- what a person does ------------------------------------------------------------

  choose(seq: number | null, open = false): void {
    const path = seq === null ? runPath(this.id) : turnPath(this.id, seq);
    router.replace(path + query(paramsOf(this.#filter)));
    this.#open = open ? seq : null;
    this.#beyond = false;
  }

  /** Select the last turn if the address names one after it; null: it does not. */
  clampSelection(): number | null {
    if (this.chosen === null || this.chosen < this.#count) return null;
    const last = this.#count > 0 ? this.#count - 1 : null;
    this.choose(last);
    this.#beyond = true;
    return last;
  }

  toggle(seq: number): void {
    const open = this.#open !== seq;
    this.choose(open ? seq : null, open);
  }

  narrowTo(change: Partial<Filter>): void {
    const path = this.chosen === null ? runPath(this.id) : turnPath(this.id, this.chosen);
    router.replace(path + query(paramsOf({ ...this.#filter, ...change })));
  }

  fold(decision: string): void {
    const next = new Set(this.#folded);
    if (!next.delete(decision)) next.add(decision);
    this.#folded = next;
  }

  /** The number of the selected turn among the matches, from 1; 0: it is none of them. */
  get hitNumber(): number {
    const { chosen } = this;
    if (chosen === null || !isIn(this.hits.ranges, chosen)) return 0;
    return rankOf(this.hits.ranges, chosen) + 1;
  }

  /** Select the next match, from the first again after the last. */
  stepHit(by: 1 | -1): void {
    const { count, ranges } = this.hits;
    if (count === 0) return;
    const here =
      this.chosen === null
        ? by > 0
          ? -1
          : 0
        : rankOf(ranges, this.chosen) - (by > 0 && this.hitNumber === 0 ? 1 : 0);
    const seq = nthOf(ranges, (here + by + count) % count);
    if (seq !== null) this.choose(seq);
  }

  /** Note where a person stopped scrolling, for going back in the browser's history. */
  rest({ key, delta }: Anchor): void {
    const { route } = router;
    if (route.name === "run" && route.id === this.id)
      router.note({ standing: { run: this.id, key, delta } });
  }

  // --- keeping up --------------------------------------------------------------------

  askNarrow(): void {
    if (hasFilters(this.#filter)) void this.narrow.ask({ ...this.#filter, q: "", only: false });
    else this.narrow.clear();
  }

  askHits(): void {
    if (this.#filter.q.trim() !== "") void this.hits.ask(this.#filter);
    else this.hits.clear();
  }

  receive(): void {
    const { filter } = this;
    if (hasFilters(filter))
      this.narrow.receive(this.#turns, (turn) => matches(turn, { ...filter, q: "" }));
    if (filter.q.trim() !== "") this.hits.receive(this.#turns, (turn) => matches(turn, filter));
  }

  #showsOnly(): boolean {
    return this.#filter.only && this.#filter.q.trim() !== "";
  }

  #rangesShown(): readonly Range[] {
    if (this.#showsOnly()) return this.hits.ranges;
    if (hasFilters(this.#filter)) return this.narrow.ranges;
    return this.#count > 0 ? [[0, this.#count - 1]] : [];
  }

  #placed(): PlacedPin[] {
    return this.#pins
      .map((pin) => ({ seq: this.timeline.placeOf(pin.at) ?? this.#count, pin }))
      .sort((a, b) => a.seq - b.seq || (a.pin.at < b.pin.at ? -1 : 1));
  }
}

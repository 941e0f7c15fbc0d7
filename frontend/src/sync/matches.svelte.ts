/** Which turns of a run match a filter: found by the server, then kept up to date live. */
import { query, read } from "../wire/api";
import type { FoundTurns, TurnRow } from "../wire/types";
import { countOf, replaced, withSeq, type Range } from "../format/ranges";
import { paramsOf, type Filter } from "../format/turnFilter";

/** A search that needs more rounds than this shows its progress and asks whether to continue. */
const MAX_ROUNDS = 40;

export type Find = (path: string) => Promise<FoundTurns>;
type Test = (turn: TurnRow) => boolean;

export class Matches {
  #ranges = $state.raw<readonly Range[]>([]);
  #busy = $state.raw(false);
  #failed = $state.raw(false);
  #from = $state.raw(0);
  readonly #count = $derived(countOf(this.#ranges));
  readonly #run: string;
  readonly #find: Find;
  /** The filter that the ranges answer. */
  #answered: string | null = null;
  #asked: Filter | null = null;
  /** The turn before which the search continues; null: it begins at the newest. */
  #before: number | null = null;
  #heard = new WeakSet<TurnRow>();
  #turns: readonly TurnRow[] = [];
  #test: Test = () => false;
  #round = 0;

  constructor(run: string, find: Find = read) {
    this.#run = run;
    this.#find = find;
  }

  get ranges(): readonly Range[] {
    return this.#ranges;
  }
  get count(): number {
    return this.#count;
  }
  get busy(): boolean {
    return this.#busy;
  }
  get failed(): boolean {
    return this.#failed;
  }
  /** The earliest turn searched; above 0, the search is in progress, stopped or failed. */
  get from(): number {
    return this.#from;
  }

  clear(): void {
    this.#round++;
    this.#answered = this.#asked = null;
    [this.#ranges, this.#busy, this.#failed, this.#from] = [[], false, false, 0];
  }

  /** Search. Earlier matches stay until the answer, and if the filter is the same, after it too. */
  async ask(filter: Filter): Promise<void> {
    this.#asked = filter;
    this.#before = null;
    await this.#search(filter);
  }

  /** Search the turns before those already searched, or repeat what failed. */
  async goOn(): Promise<void> {
    if (this.#asked) await this.#search(this.#asked);
  }

  /** Take in new turns, and old ones that were completed or tripped since. */
  receive(turns: readonly TurnRow[], test: Test): void {
    [this.#turns, this.#test] = [turns, test];
    if (this.#asked && this.#answered === questionOf(this.#asked)) this.#listen();
  }

  async #search(filter: Filter): Promise<void> {
    const round = ++this.#round;
    [this.#busy, this.#failed] = [true, false];
    try {
      for (let i = 0; i < MAX_ROUNDS && this.#before !== 0; i++) {
        const found: FoundTurns = await this.#find(this.#path(filter));
        if (round !== this.#round) return;
        this.#take(found, questionOf(filter));
      }
    } catch {
      this.#failed = round === this.#round;
    }
    if (round === this.#round) this.#busy = false;
  }

  #take(found: FoundTurns, question: string): void {
    const { searched_from: from, searched_to: to } = found;
    const isSame = this.#answered === question;
    this.#ranges = replaced(
      isSame ? this.#ranges : [],
      [from, to],
      found.ranges.map(([a, b]): Range => [a, b]),
    );
    this.#from = isSame ? Math.min(this.#from, from) : from;
    this.#answered = question;
    this.#before = from;
    this.#heard = new WeakSet();
    this.#listen();
  }

  #listen(): void {
    let ranges = this.#ranges;
    for (const turn of this.#turns) {
      if (this.#heard.has(turn)) continue;
      this.#heard.add(turn);
      if (this.#test(turn)) ranges = withSeq(ranges, turn.seq);
    }
    if (ranges !== this.#ranges) this.#ranges = ranges;
  }

  #path(filter: Filter): string {
    const search = query({
      ...paramsOf(filter),
      only: null,
      before_seq: this.#before === null ? null : String(this.#before),
    });
    return `runs/${this.#run}/turns/found/${search}`;
  }
}

function questionOf(filter: Filter): string {
  return JSON.stringify({ ...paramsOf(filter), only: null });
}

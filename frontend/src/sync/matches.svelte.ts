/** Which turns of a run match a filter: numbered by the server, then followed live. */
import { query, read } from "../wire/api";
import type { FoundTurns, TurnRow } from "../wire/types";
import { countOf, withSeq, type Range } from "../format/ranges";
import { paramsOf, type Filter } from "../format/turnFilter";

/** A search that needs more rounds than this says that it stopped. */
const MOST_ROUNDS = 40;

export class Matches {
  #ranges = $state.raw<readonly Range[]>([]);
  #busy = $state.raw(false);
  #failed = $state.raw(false);
  #from = $state.raw(0);
  readonly #count = $derived(countOf(this.#ranges));
  readonly #run: string;
  #to = -1;
  #round = 0;

  constructor(run: string) {
    this.#run = run;
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
  /** The first turn that was looked at; above 0 while a search is under way. */
  get from(): number {
    return this.#from;
  }

  clear(): void {
    this.#round++;
    [this.#ranges, this.#busy, this.#failed, this.#from, this.#to] = [[], false, false, 0, -1];
  }

  /** Ask anew; what stands from before stays until the answer. A later call wins. */
  async ask(filter: Filter): Promise<void> {
    const round = ++this.#round;
    this.#busy = true;
    this.#failed = false;
    let before: number | null = null;
    try {
      for (let i = 0; i < MOST_ROUNDS && before !== 0; i++) {
        const found: FoundTurns = await read(this.#path(filter, before));
        if (round !== this.#round) return;
        this.#take(found, before === null);
        before = found.searched_from;
      }
    } catch {
      this.#failed = round === this.#round;
    }
    if (round === this.#round) this.#busy = false;
  }

  /** New turns since; a turn that trips or ends later is heard again. */
  hear(turns: Iterable<TurnRow>, matches: (turn: TurnRow) => boolean): void {
    if (this.#round === 0) return;
    const fresh = [...turns].filter(({ seq }) => seq > this.#to).sort((a, b) => a.seq - b.seq);
    let ranges = this.#ranges;
    for (const turn of fresh) if (matches(turn)) ranges = withSeq(ranges, turn.seq);
    if (ranges !== this.#ranges) this.#ranges = ranges;
  }

  #path(filter: Filter, before: number | null): string {
    const search = query({ ...paramsOf(filter), only: null, before_seq: before === null ? null : String(before) });
    return `runs/${this.#run}/turns/found/${search}`;
  }

  #take(found: FoundTurns, isFirst: boolean): void {
    const ranges = found.ranges.map(([from, to]): Range => [from, to]);
    this.#ranges = isFirst ? ranges : [...ranges, ...this.#ranges];
    this.#from = found.searched_from;
    if (isFirst) this.#to = found.searched_to;
  }
}

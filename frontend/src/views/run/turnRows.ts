/** What each line of the timeline shows, without knowing the turns themselves. Pure. */
import type { Range } from "../../format/ranges";
import type { Loop, Pin } from "./timeline";

/** A pin and the turn before which it is placed. */
export interface PlacedPin {
  seq: number;
  pin: Pin;
}

export type Slot =
  | { kind: "turn"; key: string; seq: number; loop: Loop | null }
  | { kind: "loop"; key: string; loop: Loop }
  | Pin;

interface Stretch {
  start: number;
  from: number;
  to: number;
}
type Segment = Stretch | { start: number; slot: Exclude<Slot, { kind: "turn" }> };

export interface TurnRowsInput {
  ranges: readonly Range[];
  loops?: readonly Loop[];
  pins?: readonly PlacedPin[];
  folded?: ReadonlySet<string>;
  /** Whether each loop has a title of its own. */
  titled?: boolean;
  newestFirst?: boolean;
}

export class TurnRows {
  readonly count: number;
  readonly #segments: readonly Segment[];
  readonly #stretches: readonly Stretch[];
  readonly #loops: readonly Loop[];
  readonly #newestFirst: boolean;

  constructor({
    ranges,
    loops = [],
    pins = [],
    folded = new Set(),
    titled = true,
    newestFirst = false,
  }: TurnRowsInput) {
    this.#loops = loops;
    this.#newestFirst = newestFirst;
    const hidden = titled ? loops.filter(({ decision }) => folded.has(decision)) : [];
    const marks = [
      ...pins.map(({ seq, pin }) => ({ seq, slot: pin })),
      ...(titled
        ? loops.map((loop) => ({
            seq: loop.from,
            slot: { kind: "loop" as const, key: loop.decision, loop },
          }))
        : []),
    ];
    const segments = segmentsOf(
      withoutFolded(ranges, hidden),
      marks.sort((a, b) => a.seq - b.seq),
    );
    this.#segments = segments;
    this.#stretches = segments.flatMap((one) => ("from" in one ? [one] : []));
    const last = segments.at(-1);
    this.count = last ? last.start + lengthOf(last) : 0;
  }

  at(index: number): Slot | null {
    if (index < 0 || index >= this.count) return null;
    const place = this.#newestFirst ? this.count - 1 - index : index;
    const segment = this.#segments[this.#segmentAt(place)];
    if (!segment) return null;
    return "slot" in segment ? segment.slot : this.#turn(segment.from + place - segment.start);
  }

  /** Return the line of a turn, or of the next one in the list; -1: there is none. */
  indexOf(seq: number): number {
    let [low, high] = [0, this.#stretches.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      if ((this.#stretches[middle]?.to ?? Infinity) < seq) low = middle + 1;
      else high = middle;
    }
    const stretch = this.#stretches[low];
    return stretch ? this.#turned(stretch.start + Math.max(0, seq - stretch.from)) : -1;
  }

  /** Return the key of a turn, or if only others are in the list, of the next one there. */
  keyNear(seq: number): string {
    return this.at(this.indexOf(seq))?.key ?? turnKey(seq);
  }

  /** Return the line with this key; -1: there is none. */
  indexOfKey(key: string): number {
    const seq = seqOfKey(key);
    if (seq !== null) {
      const index = this.indexOf(seq);
      const slot = this.at(index);
      return slot?.kind === "turn" && slot.seq === seq ? index : -1;
    }
    const segment = this.#segments.find((one) => "slot" in one && one.slot.key === key);
    return segment ? this.#turned(segment.start) : -1;
  }

  /** Return the nearest turn from a line on, in steps of `by`; null at the end. */
  turnFrom(index: number, by: 1 | -1): number | null {
    for (let place = index; place >= 0 && place < this.count; place += by) {
      const slot = this.at(place);
      if (slot?.kind === "turn") return slot.seq;
    }
    return null;
  }

  #turn(seq: number): Slot {
    const loop = this.#loops.findLast(({ from, to }) => seq >= from && seq <= to) ?? null;
    return { kind: "turn", key: turnKey(seq), seq, loop };
  }

  #turned(place: number): number {
    return this.#newestFirst ? this.count - 1 - place : place;
  }

  #segmentAt(place: number): number {
    let [low, high] = [0, this.#segments.length - 1];
    while (low < high) {
      const middle = Math.ceil((low + high) / 2);
      if ((this.#segments[middle]?.start ?? Infinity) <= place) low = middle;
      else high = middle - 1;
    }
    return low;
  }
}

export function turnKey(seq: number): string {
  return `turn-${String(seq)}`;
}

function seqOfKey(key: string): number | null {
  return /^turn-\d+$/.test(key) ? Number(key.slice(5)) : null;
}

function lengthOf(segment: Segment): number {
  return "slot" in segment ? 1 : segment.to - segment.from + 1;
}

type Mark = { seq: number; slot: Exclude<Slot, { kind: "turn" }> };

function segmentsOf(ranges: readonly Range[], marks: readonly Mark[]): Segment[] {
  const segments: Segment[] = [];
  let [start, next] = [0, 0];
  const turns = (from: number, to: number) => {
    if (to < from) return;
    segments.push({ start, from, to });
    start += to - from + 1;
  };
  const stand = (mark: Mark) => segments.push({ start: start++, slot: mark.slot });
  for (const [from, to] of ranges) {
    let seq = from;
    for (let mark = marks[next]; mark && mark.seq <= to; mark = marks[++next]) {
      turns(seq, mark.seq - 1);
      seq = Math.max(seq, mark.seq);
      stand(mark);
    }
    turns(seq, to);
  }
  marks.slice(next).forEach(stand);
  return segments;
}

/** Return the ranges without what folded loops hide. */
function withoutFolded(ranges: readonly Range[], hidden: readonly Loop[]): Range[] {
  return hidden.reduce<Range[]>(
    (left, { from, to }) =>
      left.flatMap(([first, last]) => {
        if (to < first || from > last) return [[first, last] as const];
        const parts: Range[] = [
          [first, from - 1],
          [to + 1, last],
        ];
        return parts.filter(([a, b]) => a <= b);
      }),
    [...ranges],
  );
}

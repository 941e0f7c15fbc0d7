/** Runs that belong together as lanes over time: who started whom, and when each was done. Pure. */
import { hasEnded } from "../../format/words";
import type { RunRow } from "../../wire/types";

/** One run at work, from and to as shares of the whole time, in [0, 1]. */
export interface KinLane {
  run: RunRow;
  /** How many runs above it are shown. */
  depth: number;
  from: number;
  to: number;
}

/** A run was started by another, or gave its word back to it. */
export interface KinHand {
  at: number;
  giver: number;
  taker: number;
  isBack: boolean;
}

export interface KinPicture {
  lanes: KinLane[];
  hands: KinHand[];
  began: Date;
  ended: Date;
  /** Runs of the tree that have no lane. */
  more: number;
}

/** More lanes than these are no picture any more. */
export const MOST_LANES = 12;

/** @param here the run whose page it is: it, what is above and below it, have lanes before others */
export function kinLanes(
  runs: readonly RunRow[],
  here: string,
  now: Date,
  most = MOST_LANES,
): KinPicture {
  const shown = chosen(runs, here, most);
  const ends = shown.map((run) => endOf(run, now));
  const began = Math.min(...shown.map(({ started_at }) => Date.parse(started_at)), now.getTime());
  const ended = Math.max(began + 1, ...ends);
  const share = (at: number) => (at - began) / (ended - began);
  const lanes = shown.map((run, i): KinLane => {
    const depth = above(run, shown).length;
    return { run, depth, from: share(Date.parse(run.started_at)), to: share(ends[i] ?? ended) };
  });
  return {
    lanes,
    hands: lanes.flatMap((_, i) => handsOf(lanes, i)),
    began: new Date(began),
    ended: new Date(ended),
    more: runs.length - shown.length,
  };
}

function handsOf(lanes: readonly KinLane[], taker: number): KinHand[] {
  const child = lanes[taker];
  const giver = lanes.findIndex(({ run }) => run.id === child?.run.parent);
  const parent = lanes[giver];
  if (!child || !parent) return [];
  const asked = { at: child.from, giver, taker, isBack: false };
  const answers = child.run.relation === "child" && hasEnded(child.run) && child.to <= parent.to;
  return answers ? [asked, { at: child.to, giver: taker, taker: giver, isBack: true }] : [asked];
}

function endOf(run: RunRow, now: Date): number {
  if (!hasEnded(run)) return now.getTime();
  return Date.parse(run.ended_at ?? run.last_turn_at ?? run.started_at);
}

/** Each run under the one that started it, in the order they were opened. */
function chosen(runs: readonly RunRow[], here: string, most: number): RunRow[] {
  const self = runs.find(({ id }) => id === here);
  const near = new Set([here, ...(self ? above(self, runs).map(({ id }) => id) : [])]);
  const rank = ({ id, parent }: RunRow) => (near.has(id) ? 0 : parent === here ? 1 : 2);
  const kept = [...runs].sort((a, b) => rank(a) - rank(b) || (a.id < b.id ? 1 : -1)).slice(0, most);
  const ids = new Set(kept.map(({ id }) => id));
  const below = (parent: string | null): RunRow[] =>
    kept
      .filter((run) =>
        parent === null ? run.parent === null || !ids.has(run.parent) : run.parent === parent,
      )
      .sort((a, b) => (a.id < b.id ? -1 : 1))
      .flatMap((run) => [run, ...below(run.id)]);
  return below(null);
}

function above(run: RunRow, runs: readonly RunRow[]): RunRow[] {
  const parent = runs.find(({ id }) => id === run.parent);
  return parent
    ? [
        parent,
        ...above(
          parent,
          runs.filter((one) => one !== run),
        ),
      ]
    : [];
}

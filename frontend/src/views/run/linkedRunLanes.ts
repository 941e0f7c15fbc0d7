/** The runs of a tree as lanes over time: who started whom, and when each ended. Pure. */
import { hasEnded } from "../../format/words";
import type { RunRow } from "../../wire/types";

/** The lane of one run; `from` and `to` are shares of the whole time, in [0, 1]. */
export interface RunLane {
  run: RunRow;
  /** How many of its ancestors are shown. */
  depth: number;
  from: number;
  to: number;
}

/** A line between two lanes: a run starts another, or returns to it. */
export interface LaneLink {
  at: number;
  giver: number;
  taker: number;
  isBack: boolean;
}

export interface LanePicture {
  lanes: RunLane[];
  links: LaneLink[];
  began: Date;
  ended: Date;
  /** The number of runs of the tree without a lane. */
  more: number;
}

/** With more lanes the picture is unreadable. */
export const MAX_LANES = 12;

/** @param here the run whose page it is; it and its relatives get lanes before other runs */
export function linkedRunLanes(
  runs: readonly RunRow[],
  here: string,
  now: Date,
  max = MAX_LANES,
): LanePicture {
  const shown = runsWithLanes(runs, here, max);
  const ends = shown.map((run) => endOf(run, now));
  const began = Math.min(...shown.map(({ started_at }) => Date.parse(started_at)), now.getTime());
  const ended = Math.max(began + 1, ...ends);
  const share = (at: number) => (at - began) / (ended - began);
  const lanes = shown.map((run, i): RunLane => {
    const depth = ancestorsOf(run, shown).length;
    return { run, depth, from: share(Date.parse(run.started_at)), to: share(ends[i] ?? ended) };
  });
  return {
    lanes,
    links: lanes.flatMap((_, i) => linksOf(lanes, i)),
    began: new Date(began),
    ended: new Date(ended),
    more: runs.length - shown.length,
  };
}

function linksOf(lanes: readonly RunLane[], taker: number): LaneLink[] {
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

/** Return the runs that get lanes, each after the one that started it, in opening order. */
function runsWithLanes(runs: readonly RunRow[], here: string, max: number): RunRow[] {
  const self = runs.find(({ id }) => id === here);
  const near = new Set([here, ...(self ? ancestorsOf(self, runs).map(({ id }) => id) : [])]);
  const rank = ({ id, parent }: RunRow) => (near.has(id) ? 0 : parent === here ? 1 : 2);
  const kept = [...runs].sort((a, b) => rank(a) - rank(b) || (a.id < b.id ? 1 : -1)).slice(0, max);
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

function ancestorsOf(run: RunRow, runs: readonly RunRow[]): RunRow[] {
  const parent = runs.find(({ id }) => id === run.parent);
  return parent
    ? [
        parent,
        ...ancestorsOf(
          parent,
          runs.filter((one) => one !== run),
        ),
      ]
    : [];
}

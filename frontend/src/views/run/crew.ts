/** Who worked when, from where one agent handed on to another. Pure. */
import type { HandOffs } from "../../wire/types";

/** An agent at work without a break. */
export interface Stretch {
  agent: string;
  from: number;
  to: number;
}

/** A line from one lane to another. */
export interface Crossing {
  seq: number;
  giver: string;
  taker: string;
}

export interface Lanes {
  agents: string[];
  stretches: Stretch[];
  crossings: Crossing[];
  from: number;
  to: number;
}

/** More lanes than these are no picture any more. */
const MOST_LANES = 8;
/** Older hand-offs than the newest of these are left to the table. */
const MOST_CROSSINGS = 80;

export function lanesOf({ results }: HandOffs, turns: number): Lanes {
  const shown = results.slice(-MOST_CROSSINGS);
  const [first, last] = [shown[0], Math.max(0, turns - 1)];
  if (!first) return { agents: [], stretches: [], crossings: [], from: 0, to: last };
  const before =
    results.at(-shown.length - 1)?.seq ??
    Math.max(0, results.length > shown.length ? first.seq - 1 : 0);
  const stretches: Stretch[] = [{ agent: first.giver, from: before, to: first.seq - 1 }];
  shown.forEach(({ seq, taker }, i) => {
    stretches.push({ agent: taker, from: seq, to: (shown[i + 1]?.seq ?? last + 1) - 1 });
  });
  const agents = busiest(stretches);
  const has = ({ agent }: { agent: string }) => agents.includes(agent);
  const crossings = shown.map(({ seq, giver, taker }) => ({ seq, giver, taker }));
  return {
    agents,
    stretches: stretches.filter(has),
    crossings: crossings.filter(
      ({ giver, taker }) => agents.includes(giver) && agents.includes(taker),
    ),
    from: before,
    to: last,
  };
}

function busiest(stretches: readonly Stretch[]): string[] {
  const turns = new Map<string, number>();
  for (const { agent, from, to } of stretches)
    turns.set(agent, (turns.get(agent) ?? 0) + to - from + 1);
  const most = new Set(
    [...turns]
      .sort((a, b) => b[1] - a[1])
      .slice(0, MOST_LANES)
      .map(([agent]) => agent),
  );
  return [...turns.keys()].filter((agent) => most.has(agent));
}

export interface Edge {
  giver: string;
  taker: string;
  times: number;
}

/** The ways round a circle: who hands to whom how often, in the order they were first taken. */
export function circleOf(agents: readonly string[]): Edge[] {
  const edges = new Map<string, Edge>();
  agents.forEach((taker, i) => {
    const giver = agents[i - 1];
    if (giver === undefined || giver === taker) return;
    const key = JSON.stringify([giver, taker]);
    const edge = edges.get(key) ?? { giver, taker, times: 0 };
    edges.set(key, { ...edge, times: edge.times + 1 });
  });
  return [...edges.values()];
}

/** Points on a ring, the first at the top, clockwise; within a box of 1 by 1. */
export function ringPlaces(count: number): [x: number, y: number][] {
  return Array.from({ length: count }, (_, i) => {
    const angle = (2 * Math.PI * i) / count - Math.PI / 2;
    return [0.5 + 0.5 * Math.cos(angle), 0.5 + 0.5 * Math.sin(angle)];
  });
}

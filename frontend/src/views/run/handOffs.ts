/** When each agent of a run worked, derived from its hand-offs. Pure. */
import { clockTime, exactTime } from "../../format/time";
import type { HandOffs } from "../../wire/types";

/** A period in which an agent worked without a break. */
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
  /** The agents without a lane: those quiet for longest. */
  folded: string[];
}

/** The time of a hand-off, written under its position on the lanes. */
export interface Tick {
  seq: number;
  at: string;
  /** Its position on the lanes, in [0, 1]. */
  place: number;
  /** Whether it is so near the end that the time is written before it instead of after. */
  isLate: boolean;
}

/** With more lanes the picture is unreadable: the agents quiet for longest are folded. */
const MAX_LANES = 8;
/** Only this many of the newest hand-offs are drawn; the table has the others. */
const MAX_CROSSINGS = 80;

export function lanesOf({ results }: HandOffs, turns: number, max = MAX_LANES): Lanes {
  const shown = results.slice(-MAX_CROSSINGS);
  const [first, last] = [shown[0], Math.max(0, turns - 1)];
  if (!first) return { agents: [], stretches: [], crossings: [], from: 0, to: last, folded: [] };
  const before =
    results.at(-shown.length - 1)?.seq ??
    Math.max(0, results.length > shown.length ? first.seq - 1 : 0);
  const stretches: Stretch[] = [{ agent: first.giver, from: before, to: first.seq - 1 }];
  shown.forEach(({ seq, taker }, i) => {
    stretches.push({ agent: taker, from: seq, to: (shown[i + 1]?.seq ?? last + 1) - 1 });
  });
  const all = [...new Set(stretches.map(({ agent }) => agent))];
  const latest = [...new Set(stretches.map(({ agent }) => agent).reverse())].slice(0, max);
  const agents = all.filter((agent) => latest.includes(agent));
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
    folded: all.filter((agent) => !latest.includes(agent)),
  };
}

/**
 * Return at most `max` hand-offs as ticks, as evenly spaced as possible. `wide` is the share
 * of the width that a written time takes: none is cut off or overlaps another.
 */
export function ticksOf(
  { results }: HandOffs,
  { from, to }: Lanes,
  max: number,
  wide: number,
): Tick[] {
  const shown = results.filter(({ seq }) => seq > from);
  const part = (to - from + 1) / max;
  const firsts = Array.from({ length: max }, (_, i) => {
    const [begin, end] = [from + i * part, from + (i + 1) * part];
    return shown.find(({ seq }) => seq >= begin && seq < end);
  });
  const ticks = firsts
    .filter((one) => one !== undefined)
    .map(({ seq, asked }) => {
      const place = (seq - from) / (to - from + 1);
      return { seq, at: asked.ts, place, isLate: place > 1 - wide };
    });
  const isApart = (tick: Tick, i: number) => {
    const before = ticks[i - 1];
    return !before || tick.place - before.place >= 1 / max / 2;
  };
  return ticks.filter(isApart).filter((tick, i, all) => {
    const next = all[i + 1];
    if (!next) return true;
    return tick.place + (tick.isLate ? 0 : wide) <= next.place - (next.isLate ? wide : 0);
  });
}

/** Below this length, times show seconds: their minutes would all be the same. */
const SHORT_MS = 600_000;

/** Return the ticks with their times as text, without ticks whose text repeats. */
export function timesAt(ticks: readonly Tick[], now: Date): (Tick & { words: string })[] {
  const [first, last] = [ticks[0]?.at ?? "", ticks.at(-1)?.at ?? ""];
  const isShort = Date.parse(last) - Date.parse(first) < SHORT_MS;
  const written = (at: string) => (isShort ? exactTime(at) : clockTime(at, now));
  return ticks
    .map((tick) => ({ ...tick, words: written(tick.at) }))
    .filter(({ words }, i, all) => words !== all[i - 1]?.words);
}

/** An agent that has done nothing since it handed off, and to whom it did. */
export interface AgentWait {
  agent: string;
  for: string;
  since: number;
}

/**
 * Return who has handed off to whom and not worked since, in a run that goes on. They may be
 * done instead of waiting. Each handed off to an agent that worked later, so every chain ends
 * with the agent that works now.
 */
export function waitsOf({ agents, crossings, stretches }: Lanes): AgentWait[] {
  const working = stretches.at(-1)?.agent;
  return agents.flatMap((agent) => {
    const given = crossings.findLast(({ giver }) => giver === agent);
    const worked = stretches.findLast((one) => one.agent === agent);
    if (!given || agent === working || (worked && worked.from >= given.seq)) return [];
    return [{ agent, for: given.taker, since: given.seq }];
  });
}

/** Return the longest chain of waiting agents; the agent that works now is last. */
export function longestChain(waits: readonly AgentWait[]): string[] {
  const next = new Map(waits.map((wait) => [wait.agent, wait.for]));
  const chains = waits.map(({ agent }) => {
    const chain = [agent];
    for (let at = next.get(agent); at !== undefined && !chain.includes(at); at = next.get(at))
      chain.push(at);
    return chain;
  });
  return chains.reduce<string[]>((max, chain) => (chain.length > max.length ? chain : max), []);
}

export interface HandOffEdge {
  giver: string;
  taker: string;
  times: number;
}

/** Return the edges of a circle: who hands off to whom how often, in order of first use. */
export function cycleOf(agents: readonly string[]): HandOffEdge[] {
  const edges = new Map<string, HandOffEdge>();
  agents.forEach((taker, i) => {
    const giver = agents[i - 1];
    if (giver === undefined || giver === taker) return;
    const key = JSON.stringify([giver, taker]);
    const edge = edges.get(key) ?? { giver, taker, times: 0 };
    edges.set(key, { ...edge, times: edge.times + 1 });
  });
  return [...edges.values()];
}

/** Return points on a ring in a box of 1 by 1, clockwise from the top. */
export function ringPlaces(count: number): [x: number, y: number][] {
  return Array.from({ length: count }, (_, i) => {
    const angle = (2 * Math.PI * i) / count - Math.PI / 2;
    return [0.5 + 0.5 * Math.cos(angle), 0.5 + 0.5 * Math.sin(angle)];
  });
}

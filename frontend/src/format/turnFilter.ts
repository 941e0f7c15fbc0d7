/** The filter of the turns, as the address contains it. Pure. */
import type { TurnRow } from "../wire/types";

export interface Filter {
  agent: string;
  tool: string;
  /** A detector's name. */
  signal: string;
  role: string;
  /** Only turns that tripped a detector. */
  flagged: boolean;
  /** The words searched for. */
  q: string;
  /** Show only turns that contain the words, instead of marking them among all. */
  only: boolean;
}

/** The value for turns that call no tool. */
export const TEXT_TURNS = "text";

export function filterOf(search: URLSearchParams): Filter {
  const param = (name: string) => search.get(name) ?? "";
  return {
    agent: param("agent"),
    tool: param("tool"),
    signal: param("signal"),
    role: param("role"),
    flagged: param("flagged") === "1",
    q: param("q").slice(0, 200),
    only: param("only") === "1",
  };
}

export function paramsOf(filter: Filter): Record<string, string> {
  const { agent, tool, signal, role, q } = filter;
  const flags = {
    flagged: filter.flagged ? "1" : "",
    only: filter.only && q.trim() !== "" ? "1" : "",
  };
  const all = { agent, tool, signal, role, q: q.trim(), ...flags };
  return Object.fromEntries(Object.entries(all).filter(([, value]) => value !== ""));
}

/** Return whether the list is filtered, apart from the words. */
export function hasFilters({ agent, tool, signal, role, flagged }: Filter): boolean {
  return flagged || [agent, tool, signal, role].some((value) => value !== "");
}

export function isUnfiltered(filter: Filter): boolean {
  return !hasFilters(filter) && filter.q.trim() === "";
}

export function matches(turn: TurnRow, filter: Filter): boolean {
  const { agent, tool, signal, role } = filter;
  if (agent !== "" && turn.agent !== agent) return false;
  if (tool !== "" && (turn.tool ?? TEXT_TURNS) !== tool) return false;
  if (role !== "" && turn.role !== role) return false;
  if (signal !== "" && turn.detector !== signal) return false;
  if (filter.flagged && turn.detector === null) return false;
  return containsWords(turn, filter.q);
}

export function containsWords(turn: TurnRow, words: string): boolean {
  const needle = words.trim().toLowerCase();
  if (needle === "") return true;
  const parts = [turn.tool, JSON.stringify(turn.args), turn.content, turn.result, turn.error];
  return parts.some((part) => part?.toLowerCase().includes(needle));
}

/** A run's turns, its loops and what people did, as one list. Pure. */
import { money, plural } from "../format/numbers";
import { span } from "../format/time";
import { answerWords, turnRange } from "../format/words";
import { isOpen } from "../sync/reduce";
import type { AutofixRow, DecisionRow, InterventionRow, TurnRow } from "../wire/types";

export type Item =
  | { kind: "turn"; key: string; turn: TurnRow; loop: Loop | null }
  | { kind: "loop"; key: string; loop: Loop }
  | { kind: "pin"; key: string; at: string; made: InterventionRow }
  | { kind: "fix"; key: string; at: string; fix: AutofixRow };

export type Pin = Extract<Item, { kind: "pin" | "fix" }>;

/** The turns that one card is about. */
export interface Loop {
  decision: string;
  open: boolean;
  from: number;
  to: number;
  title: string;
  detail: string;
}

export interface Filter {
  tool: string | null;
  signals: boolean;
  words: string;
}

export const EVERYTHING: Filter = { tool: null, signals: false, words: "" };

export function loopsOf(decisions: readonly DecisionRow[], turns: readonly TurnRow[]): Loop[] {
  return decisions
    .filter(({ kind, evidence }) => kind !== "budget" && evidence.turns.length > 1)
    .map((decision) => loopOf(decision, turns))
    .sort((a, b) => a.from - b.from);
}

function loopOf(decision: DecisionRow, turns: readonly TurnRow[]): Loop {
  const { evidence } = decision;
  const [from = 0, to = 0] = [Math.min(...evidence.turns), Math.max(...evidence.turns)];
  const inside = turns.filter(({ seq }) => evidence.turns.includes(seq));
  const held = inside.filter(({ phase }) => phase === "proposed").length;
  const [first, last] = [inside[0], inside.at(-1)];
  const took = first && last ? span(Date.parse(last.ts) - Date.parse(first.ts)) : "";
  const detail = [
    `${plural(evidence.turns.length - held, "run")}${held > 0 ? ` and ${String(held)} held` : ""}${took ? `, in ${took}` : ""}`,
    evidence.cost_usd === null ? "" : money(evidence.cost_usd),
    isOpen(decision) ? "" : answerWords(decision),
  ];
  return {
    decision: decision.id,
    open: isOpen(decision),
    from,
    to,
    title: `Turns ${turnRange([from, to])}: ${titleOf(decision)}`,
    detail: detail.filter(Boolean).join(" · "),
  };
}

function titleOf(decision: DecisionRow): string {
  const words: Record<string, string> = {
    exact_repeat: "same call, same result",
    semantic_repeat: "the same in other words",
    ping_pong: "to and fro",
    k_cycle: "the same round again",
    same_error: "the same failure",
    recurrence: "the same call, again and again",
    stagnation: "questions that teach nothing",
    monologue: "talk without news",
    hand_offs: "handed round in a circle",
    reverification: "checked again and again",
    stall: "nothing moves",
    suspicion: "looks stuck",
  };
  return words[decision.kind] ?? decision.kind.replace(/_/g, " ");
}

/** Turns oldest first, each loop under its title, each answer where it was given. */
export function itemsOf(
  turns: readonly TurnRow[],
  loops: readonly Loop[],
  given: readonly Pin[],
  folded: ReadonlySet<string>,
): Item[] {
  const items: Item[] = [];
  const pins = [...given].sort((a, b) => (a.at < b.at ? -1 : 1));
  const titled = new Set<string>();
  for (const turn of turns) {
    const before = pins.findIndex(({ at }) => at >= turn.ts);
    items.push(...pins.splice(0, before < 0 ? pins.length : before));
    const loop = loops.findLast(({ from, to }) => turn.seq >= from && turn.seq <= to) ?? null;
    if (loop && !titled.has(loop.decision)) {
      titled.add(loop.decision);
      items.push({ kind: "loop", key: loop.decision, loop });
    }
    if (!loop || !folded.has(loop.decision)) items.push({ kind: "turn", key: turn.id, turn, loop });
  }
  return [...items, ...pins];
}

/** What people and auto gave the run. */
export function pinsOf(
  made: Iterable<InterventionRow>,
  fixes: Iterable<AutofixRow>,
): Pin[] {
  return [
    ...Array.from(made, (row): Pin => ({ kind: "pin", key: row.id, at: row.at, made: row })),
    ...Array.from(fixes, (row): Pin => ({ kind: "fix", key: row.id, at: row.applied_at, fix: row })),
  ];
}

export function matches(turn: TurnRow, filter: Filter): boolean {
  if (filter.tool !== null && (turn.tool ?? "text") !== filter.tool) return false;
  if (filter.signals && turn.detector === null) return false;
  const words = filter.words.trim().toLowerCase();
  return words === "" || textOf(turn).includes(words);
}

function textOf(turn: TurnRow): string {
  const parts = [turn.tool, JSON.stringify(turn.args), turn.content, turn.result, turn.error, turn.agent];
  return parts.filter(Boolean).join("\n").toLowerCase();
}

/** The tools of a run with how often each was used, most used first. */
export function toolCounts(turns: readonly TurnRow[]): [tool: string, n: number][] {
  const counts = new Map<string, number>();
  for (const turn of turns) counts.set(turn.tool ?? "text", (counts.get(turn.tool ?? "text") ?? 0) + 1);
  return [...counts].sort((a, b) => b[1] - a[1]);
}

/** A run's turns, loops and interventions, as one list. Pure. */
import { money } from "../../format/numbers";
import { span } from "../../format/time";
import { answerWords, turnRange } from "../../format/words";
import { run as t } from "../../messages/texts";
import { isOpen } from "../../sync/reduce";
import type { AutofixRow, DecisionRow, Evidence, InterventionRow, TurnRow } from "../../wire/types";

/** An intervention by a person, or an autofix. */
export type Pin =
  | { kind: "pin"; key: string; at: string; made: InterventionRow }
  | { kind: "fix"; key: string; at: string; fix: AutofixRow };

/** The turns that one card is about. */
export interface Loop {
  decision: string;
  /** The kind in the words of the card. */
  kind: string;
  open: boolean;
  from: number;
  to: number;
  title: string;
  detail: string;
}

export function loopsOf(decisions: readonly DecisionRow[], turns: readonly TurnRow[]): Loop[] {
  return decisions
    .filter(({ kind, evidence }) => kind !== "budget" && evidence.turns.length > 1)
    .map((decision) => loopOf(decision, turns))
    .sort((a, b) => a.from - b.from);
}

function loopOf(decision: DecisionRow, turns: readonly TurnRow[]): Loop {
  const { evidence } = decision;
  const [from = 0, to = 0] = [Math.min(...evidence.turns), Math.max(...evidence.turns)];
  const inside = insideOf(evidence, turns);
  const held = inside.filter(({ ran }) => !ran).length;
  const [first, last] = [inside[0], inside.at(-1)];
  const took =
    first && last && last !== first ? span(Date.parse(last.at) - Date.parse(first.at)) : "";
  const ran = t.ran(evidence.turns.length - held);
  const counted = held > 0 ? t.andHeld(ran, held) : ran;
  const detail = [
    took ? t.took(counted, took) : counted,
    evidence.cost_usd === null ? "" : money(evidence.cost_usd),
    isOpen(decision) ? "" : answerWords(decision),
  ];
  return {
    decision: decision.id,
    kind: decision.kind,
    open: isOpen(decision),
    from,
    to,
    title: t.loop(turnRange([from, to]), titleOf(decision)),
    detail: detail.filter(Boolean).join(" · "),
  };
}

/** Return the loop's turns from the list, or else from the evidence of its card. */
function insideOf(evidence: Evidence, turns: readonly TurnRow[]): { at: string; ran: boolean }[] {
  const here = turns.filter(({ seq }) => evidence.turns.includes(seq));
  if (here.length > 0) return here.map(({ ts, phase }) => ({ at: ts, ran: phase === "done" }));
  return evidence.items.filter(({ run }) => run === null);
}

function titleOf(decision: DecisionRow): string {
  const words: Partial<Record<string, string>> = t.loops;
  return words[decision.kind] ?? decision.kind.replace(/_/g, " ");
}

/** Return the interventions by people, and the autofixes. */
export function pinsOf(made: Iterable<InterventionRow>, fixes: Iterable<AutofixRow>): Pin[] {
  return [
    ...Array.from(made, (row): Pin => ({ kind: "pin", key: row.id, at: row.at, made: row })),
    ...Array.from(fixes, (row): Pin => ({
      kind: "fix",
      key: row.id,
      at: row.applied_at,
      fix: row,
    })),
  ];
}

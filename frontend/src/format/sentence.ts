/** The guard's sentences of a card; their words come with the screens that show cards. */
import { record } from "../messages/texts";
import type { DecisionRow } from "../wire/types";

/** What the evidence says, in a sentence. */
export function sentenceOf(decision: DecisionRow): string {
  return record.sentence(decision.evidence.summary);
}

/** The evidence's sentence with the run as its subject. */
export function headline(decision: DecisionRow): { name: string; rest: string } {
  const summary = sentenceOf(decision);
  const rest = /^(?:It|Er)\b/.test(summary) ? summary.slice(2) : `: ${summary}`;
  return { name: decision.run_name, rest };
}

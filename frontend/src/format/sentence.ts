/** The guard's sentences on cards; their texts are loaded with the screens that show cards. */
import { record } from "../messages/texts";
import type { DecisionRow } from "../wire/types";

/** Return the evidence as a sentence. */
export function sentenceOf(decision: DecisionRow): string {
  return record.sentence(decision.evidence.summary);
}

/** Return the evidence as a sentence with the run as its subject. */
export function headline(decision: DecisionRow): { name: string; rest: string } {
  const summary = sentenceOf(decision);
  const rest = /^(?:It|Er)\b/.test(summary) ? summary.slice(2) : `: ${summary}`;
  return { name: decision.run_name, rest };
}

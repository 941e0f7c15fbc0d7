/** Which runs belong to a run. Pure. */
import { words as t } from "../messages/texts";
import { hasEnded } from "./words";
import type { RunRow } from "../wire/types";

/** Return the live runs that can be ended and were started by this run, directly or not. */
export function liveDescendantsOf(run: RunRow, runs: readonly RunRow[]): RunRow[] {
  const found: RunRow[] = [];
  const above = new Set([run.id]);
  for (let grew = true; grew;) {
    const below = runs.filter(
      ({ id, parent, relation }) =>
        relation === "child" && parent !== null && above.has(parent) && !above.has(id),
    );
    grew = below.length > 0;
    for (const one of below) above.add(one.id);
    found.push(...below);
  }
  return found.filter((one) => !hasEnded(one) && !("terminate" in one.unavailable));
}

/** Return the runs directly below this one, in the order they were opened. */
export function childrenOf(run: RunRow, runs: readonly RunRow[]): RunRow[] {
  return runs.filter(({ parent }) => parent === run.id).sort((a, b) => (a.id < b.id ? -1 : 1));
}

/** Return how a run relates to its parent: "Started by", "Forked from". */
export function relationText(relation: RunRow["relation"]): string {
  return t.relation[relation ?? "child"];
}

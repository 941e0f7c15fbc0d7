/** Which runs belong to a run. Pure. */
import { words as t } from "../messages/texts";
import { hasEnded } from "./words";
import type { RunRow } from "../wire/types";

/** The runs that this one's agent started, and those that they did, while they live and can be ended. */
export function startedBy(run: RunRow, runs: readonly RunRow[]): RunRow[] {
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

/** The runs right below this one, as they were opened. */
export function childrenOf(run: RunRow, runs: readonly RunRow[]): RunRow[] {
  return runs.filter(({ parent }) => parent === run.id).sort((a, b) => (a.id < b.id ? -1 : 1));
}

/** How a run belongs to its parent: "Started by", "Forked from". */
export function relationWords(relation: RunRow["relation"]): string {
  return t.relation[relation ?? "child"];
}

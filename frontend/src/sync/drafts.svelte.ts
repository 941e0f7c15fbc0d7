/** What is being written to agents in this window, by person and run. */
import { appState } from "./appState.svelte";

export interface Draft {
  text: string;
  /** The only agent of the run that it is for; null: all of them. */
  to: string | null;
}

/** A card that opens, or a look elsewhere, takes the box away and not what stands in it. */
let drafts = $state.raw<ReadonlyMap<string, Draft>>(new Map());

export function draftOf(run: string): Draft {
  return drafts.get(keyOf(run)) ?? { text: "", to: null };
}

export function keepDraft(run: string, change: Partial<Draft>): void {
  drafts = new Map(drafts).set(keyOf(run), { ...draftOf(run), ...change });
}

function keyOf(run: string): string {
  return `${String(appState.me?.user.id)} ${run}`;
}

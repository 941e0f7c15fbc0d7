/** Unsent messages to agents in this window, by person and run. */
import { appState } from "./appState.svelte";

export interface Draft {
  text: string;
  /** The agent of the run that it is for; null: all of them. */
  to: string | null;
}

/** Kept here because a card that opens, or another page, removes the box but not its text. */
let drafts = $state.raw<ReadonlyMap<string, Draft>>(new Map());

export function draftOf(run: string): Draft {
  return drafts.get(keyOf(run)) ?? { text: "", to: null };
}

export function saveDraft(run: string, change: Partial<Draft>): void {
  drafts = new Map(drafts).set(keyOf(run), { ...draftOf(run), ...change });
}

function keyOf(run: string): string {
  return `${String(appState.me?.user.id)} ${run}`;
}

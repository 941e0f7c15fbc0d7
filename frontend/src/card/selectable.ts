/** Which cards can be selected for a shared answer: only those that this person may answer. */
import { appState } from "../sync/appState.svelte";
import type { DecisionRow } from "../wire/types";

export const isAnswerable = ({ actions }: DecisionRow): boolean => actions.length > 0;

export const canSelect = (): boolean => appState.open.filter(isAnswerable).length > 1;

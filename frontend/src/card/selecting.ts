/** Which cards can be chosen for one answer to several: not those that only others may answer. */
import { appState } from "../sync/appState.svelte";
import type { DecisionRow } from "../wire/types";

export const isAnswerable = ({ actions }: DecisionRow): boolean => actions.length > 0;

export const canSelect = (): boolean => appState.open.filter(isAnswerable).length > 1;

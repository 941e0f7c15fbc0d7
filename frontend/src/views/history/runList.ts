/** The properties of the list of runs in History, as a table and on a phone. */
import { openFrom } from "../../format/words";
import { appState } from "../../sync/appState.svelte";
import type { HistoryRow, RunRow } from "../../wire/types";

export interface RunListProps {
  runs: readonly HistoryRow[];
  sort: string;
  /** The runs selected for comparison; null: no selection in progress. */
  picked: readonly RunRow[] | null;
  onpick: (run: RunRow) => void;
  onsort: (sort: string) => void;
}

/** Return the turn from which a run's tape is amber: the first of its open card. */
export function amberFrom({ id }: HistoryRow): number | null {
  return (
    appState.open
      .filter(({ run }) => run === id)
      .map(openFrom)
      .find((seq) => seq !== null) ?? null
  );
}

/** What History's runs are shown with, in a table or on a phone. */
import { openFrom } from "../../format/words";
import { appState } from "../../sync/appState.svelte";
import type { HistoryRow, RunRow } from "../../wire/types";

export interface Listed {
  runs: readonly HistoryRow[];
  sort: string;
  /** Those selected to be compared; null: none is being selected. */
  picked: readonly RunRow[] | null;
  onpick: (run: RunRow) => void;
  onsort: (sort: string) => void;
}

/** The turn from which a run's tape is amber: its open card's first. */
export function amberFrom({ id }: HistoryRow): number | null {
  return (
    appState.open
      .filter(({ run }) => run === id)
      .map(openFrom)
      .find((seq) => seq !== null) ?? null
  );
}

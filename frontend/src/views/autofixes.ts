/** What autofixes came to. Pure. */
import type { AutofixRow } from "../wire/types";

export interface Record {
  wentOn: number;
  judged: number;
  /** Judged later: too few turns have come since. */
  open: number;
}

export function recordOf(rows: readonly AutofixRow[]): Record {
  const judged = rows.filter(({ recovered }) => recovered !== null);
  return {
    wentOn: judged.filter(({ recovered }) => recovered).length,
    judged: judged.length,
    open: rows.length - judged.length,
  };
}

/** `went on after 2 turns`, `did not help`, `not judged yet`, `not delivered`. */
export function outcomeOf(row: AutofixRow): string {
  if (row.recovered === true) return `went on, judged after ${turns(row.turns_after)}`;
  if (row.recovered === false) return "did not help";
  return row.delivered_at ? "not judged yet" : "not delivered yet";
}

function turns(count: number): string {
  return count === 1 ? "1 turn" : `${String(count)} turns`;
}

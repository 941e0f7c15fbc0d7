/** Results of autofixes. Pure. */
import { autofixes as t } from "../../messages/texts";
import type { AutofixRow } from "../../wire/types";

export interface Record {
  wentOn: number;
  judged: number;
  /** Not judged yet, because too few turns followed. */
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

/** Return the results by kind of loop, of kinds judged at least once; the most frequent first. */
export function kindsOf(rows: readonly AutofixRow[]): (Record & { kind: string })[] {
  const kinds = [...new Set(rows.map(({ kind }) => kind))].filter(Boolean);
  return kinds
    .map((kind) => ({ kind, ...recordOf(rows.filter((row) => row.kind === kind)) }))
    .filter(({ judged }) => judged > 0)
    .sort((a, b) => b.judged - a.judged || (a.kind < b.kind ? -1 : 1));
}

const BEFORE = 3;
const AFTER = 3;

/** Return the API path of the turns around the one that a fix answered. */
export function turnsAround(run: string, seq: number): string {
  const from = Math.max(0, seq - BEFORE + 1);
  return `runs/${run}/turns/?after_seq=${String(from - 1)}&limit=${String(seq - from + 1 + AFTER)}`;
}

/** `went on after 2 turns`, `did not help`, `not judged yet`, `not delivered`. */
export function outcomeOf(row: AutofixRow): string {
  if (row.recovered === true) return t.outcome.wentOn(row.turns_after);
  if (row.recovered === false) return t.outcome.didNotHelp;
  return row.delivered_at ? t.outcome.notJudged : t.outcome.notDelivered;
}

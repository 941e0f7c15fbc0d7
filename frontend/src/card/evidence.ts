/** Which two turns a card shows side by side, and which of their lines. Pure. */
import type { DecisionRow, Evidence, EvidenceTurn } from "../wire/types";

const MAX_LINES = 9;

export interface Pair {
  left: EvidenceTurn;
  right: EvidenceTurn;
  /** Both are the same call, so that differences can be marked. */
  comparable: boolean;
}

/** Return the first and the last execution of the same call; in a circle, its last two calls. */
export function pairOf(evidence: Evidence): Pair | null {
  const ran = evidence.items.filter((item) => item.ran && textOf(item) !== "");
  const right = ran.at(-1);
  const same = ran.filter((item) => item.call === right?.call);
  const left = same.length > 1 ? same[0] : ran.at(-2);
  if (!left || !right) return null;
  return { left, right, comparable: left.call === right.call };
}

/** Return the last call if there is none to compare it with: proposed, or seen only once. */
export function lastOf(evidence: Evidence): EvidenceTurn | null {
  return evidence.items.at(-1) ?? null;
}

export function textOf(item: EvidenceTurn): string {
  return (item.error ?? item.result ?? "").trim();
}

/** Return what a person reads first: from pytest's `E` lines on, without a long middle. */
export function shortText(item: EvidenceTurn, maxLines = MAX_LINES): string {
  const all = textOf(item)
    .split("\n")
    .filter((line) => line.trim() !== "")
    .map((line) => line.replace(/^E\s+/, "E "));
  const lines = all.slice(
    Math.max(
      0,
      all.findIndex((line) => /^E\s/.test(line)),
    ),
  );
  if (lines.length <= maxLines) return lines.join("\n");
  const head = lines.slice(0, Math.ceil(maxLines / 3));
  return [...head, "…", ...lines.slice(-(maxLines - head.length - 1))].join("\n");
}

/** Return the lines that say what went wrong, or else the last ones; at most `maxLines`. */
export function errorLines(item: EvidenceTurn, maxLines = 2): string[] {
  const lines = textOf(item)
    .split("\n")
    .filter((line) => line.trim() !== "");
  const errors = lines.filter(isErrorLine);
  const marked = errors.filter((line) => /^E\s/.test(line));
  const best = marked.length > 0 ? marked : errors;
  return (best.length > 0 ? best : lines).slice(-maxLines);
}

/** Return the seqs of the other turns with the same call: "same call as 34, 35, 36". */
export function sameCalls(evidence: Evidence, item: EvidenceTurn): number[] {
  return evidence.items
    .filter(({ call, seq, run }) => call === item.call && seq !== item.seq && run === item.run)
    .map(({ seq }) => seq);
}

/** Return whether the turn belongs to a linked run instead of the card's own. */
export function isElsewhere(decision: DecisionRow, item: EvidenceTurn): boolean {
  return item.run !== null && item.run !== decision.run;
}

/** Return the linked runs that a loop spans, each once, without the card's own. */
export function otherRuns(decision: DecisionRow): string[] {
  const runs = decision.evidence.items.flatMap(({ run }) =>
    run === null || run === decision.run ? [] : [run],
  );
  return [...new Set(runs)];
}

/** Return whether a line of output reports an error. */
export function isErrorLine(line: string): boolean {
  return /^E\s|\b\w*(Error|Exception|Traceback|FAILED|fatal|not found|No such file)\b/.test(line);
}

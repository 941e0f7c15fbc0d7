/** Mark the differences between two similar texts. Pure. */
import { words as t } from "../messages/texts";

export interface Piece {
  text: string;
  differs: boolean;
}

const MAX_WORDS = 400;

export interface Op {
  side: "both" | "left" | "right";
  text: string;
}

/** Merge both texts: what they share, and what only one of them has. */
export function merge(left: string, right: string): Op[] {
  const [a, b] = [words(left), words(right)];
  if (a.length > MAX_WORDS || b.length > MAX_WORDS) return [{ side: "both", text: right }];
  return joined(walk(a, b));
}

/** Return both texts in pieces, word by word, with what the other lacks marked. */
export function compare(left: string, right: string): [Piece[], Piece[]] {
  if (words(left).length > MAX_WORDS || words(right).length > MAX_WORDS)
    return [plain(left), plain(right)];
  const ops = merge(left, right);
  return [side(ops, "left"), side(ops, "right")];
}

function side(ops: readonly Op[], own: "left" | "right"): Piece[] {
  return ops
    .filter((op) => op.side === own || op.side === "both")
    .map((op) => ({ text: op.text, differs: op.side !== "both" && op.text.trim() !== "" }));
}

export function isSame(pieces: readonly Piece[]): boolean {
  return pieces.every(({ differs }) => !differs);
}

/** Describe the kind of difference between two marked texts. */
export function differenceWords(left: readonly Piece[], right: readonly Piece[]): string {
  const marked = [...left, ...right]
    .filter(({ differs }) => differs)
    .map(({ text }) => text.trim());
  const telling = marked.filter((text) => text !== "");
  if (telling.length === 0) return t.difference.same;
  if (telling.every(isTime)) return t.difference.time;
  if (telling.every(isNumber)) return t.difference.numbers;
  return t.difference.marked;
}

function isTime(text: string): boolean {
  return /^[\d.:]+\s?(?:ms|s|sec|seconds|min)?[,;.)]?$/.test(text) && /[.:]|s$/.test(text);
}

function isNumber(text: string): boolean {
  return /^[-+\d.,:%]+$/.test(text);
}

function words(text: string): string[] {
  return text.match(/\s+|[^\s]+/g) ?? [];
}

function plain(text: string): Piece[] {
  return text === "" ? [] : [{ text, differs: false }];
}

/** Compare along the longest common subsequence. */
function walk(a: string[], b: string[]): Op[] {
  const table = lengths(a, b);
  const ops: Op[] = [];
  let [i, j] = [0, 0];
  while (i < a.length || j < b.length) {
    const [mine, theirs] = [a[i], b[j]];
    if (mine !== undefined && mine === theirs) {
      ops.push({ side: "both", text: mine });
      i++;
      j++;
    } else if (
      mine !== undefined &&
      (theirs === undefined || at(table, i + 1, j) >= at(table, i, j + 1))
    ) {
      ops.push({ side: "left", text: mine });
      i++;
    } else {
      ops.push({ side: "right", text: theirs ?? "" });
      j++;
    }
  }
  return ops;
}

function joined(ops: readonly Op[]): Op[] {
  const out: Op[] = [];
  for (const op of ops) {
    const last = out.at(-1);
    if (last?.side === op.side) last.text += op.text;
    else out.push({ ...op });
  }
  return out;
}

function lengths(a: string[], b: string[]): number[][] {
  const table = Array.from({ length: a.length + 1 }, () => new Array<number>(b.length + 1).fill(0));
  for (let i = a.length - 1; i >= 0; i--)
    for (let j = b.length - 1; j >= 0; j--) {
      const row = table[i];
      if (!row) continue;
      row[j] =
        a[i] === b[j]
          ? at(table, i + 1, j + 1) + 1
          : Math.max(at(table, i + 1, j), at(table, i, j + 1));
    }
  return table;
}

function at(table: number[][], i: number, j: number): number {
  return table[i]?.[j] ?? 0;
}

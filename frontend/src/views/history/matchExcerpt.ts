/** A text in marked and unmarked pieces. Positions count code points, not UTF-16 units. */
import type { Match } from "../../wire/types";

export interface Piece {
  text: string;
  isMarked: boolean;
}

export function piecesOf({ text, marks }: Pick<Match, "text" | "marks">): Piece[] {
  const signs = Array.from(text);
  const pieces: Piece[] = [];
  let at = 0;
  for (const [begin, end] of marks) {
    pieces.push(
      { text: signs.slice(at, begin).join(""), isMarked: false },
      { text: signs.slice(begin, end).join(""), isMarked: true },
    );
    at = end;
  }
  pieces.push({ text: signs.slice(at).join(""), isMarked: false });
  return pieces.filter((piece) => piece.text !== "");
}

const BEFORE = 6;

/** Return the pieces from shortly before the first mark on, for small spaces. */
export function nearMark(pieces: readonly Piece[]): readonly Piece[] {
  const [first, ...rest] = pieces;
  if (!first || first.isMarked || first.text.length <= BEFORE) return pieces;
  return [{ text: `…${first.text.slice(-BEFORE)}`, isMarked: false }, ...rest];
}

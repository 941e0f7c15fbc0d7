/**
 * The search line as people type it: tokens such as `agent:coder`, and words. Pure.
 * The server interprets it (`history/language.py`); this only separates its parts.
 */

export const KEYS = [
  "agent",
  "tool",
  "status",
  "cost",
  "since",
  "until",
  "is",
  "by",
  "ended",
  "turns",
  "kind",
  "mode",
  "model",
  "project",
] as const;
export type Key = (typeof KEYS)[number];

export interface Token {
  /** The token as it is written in the line. */
  raw: string;
  key: Key;
  value: string;
  negated: boolean;
}

export interface Line {
  tokens: readonly Token[];
  /** The rest, as typed. */
  words: string;
}

const PIECE = /(-?)(?:([a-z]+):)?(?:"([^"]*)"?|(\S+))/gi;

/** Parse a line; everything except known tokens with a value is words. */
export function readLine(line: string): Line {
  const tokens: Token[] = [];
  const words: string[] = [];
  for (const piece of line.matchAll(PIECE)) {
    const token = tokenOf(piece);
    if (token) tokens.push(token);
    else words.push(piece[0]);
  }
  return { tokens, words: words.join(" ") };
}

/** Return the line of these parts, tokens first. */
export function lineOf({ tokens, words }: Line): string {
  return [...tokens.map(({ raw }) => raw), words.trim()].filter(Boolean).join(" ");
}

/** Return the line without one of its tokens. */
export function without(line: string, token: Token): string {
  const { tokens, words } = readLine(line);
  const at = tokens.findIndex(({ raw }) => raw === token.raw);
  return lineOf({ tokens: tokens.filter((_, index) => index !== at), words });
}

/**
 * Return which parts of a typed text are finished: a token is finished once a space follows
 * it, or if all of the text is (`finished`: Enter was pressed, or the field left).
 */
export function absorb(typed: string, finished: boolean): Line {
  if (finished) return readLine(typed);
  const end = lastGap(typed);
  const { tokens, words } = readLine(typed.slice(0, end));
  return tokens.length === 0
    ? { tokens, words: typed }
    : { tokens, words: `${words}${words && typed.slice(end) ? " " : ""}${typed.slice(end)}` };
}

/** Return whether two lines have the same parts, in any order. */
export function isSame(one: string, other: string): boolean {
  return sorted(one) === sorted(other);
}

function sorted(line: string): string {
  const { tokens, words } = readLine(line);
  return [...tokens.map(({ raw }) => raw.toLowerCase()).sort(), words.toLowerCase()].join(" ");
}

function tokenOf(piece: RegExpMatchArray): Token | null {
  const [raw, minus, name, quoted, bare] = piece;
  const key = KEYS.find((known) => known === name?.toLowerCase());
  const value = quoted ?? bare ?? "";
  return key && value ? { raw, key, value, negated: minus === "-" } : null;
}

/** Return the end of the last space outside quotes. */
function lastGap(text: string): number {
  let isQuoted = false;
  let end = 0;
  for (let at = 0; at < text.length; at++) {
    if (text[at] === '"') isQuoted = !isQuoted;
    else if (text[at] === " " && !isQuoted) end = at + 1;
  }
  return end;
}

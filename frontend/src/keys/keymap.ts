/** Which key means what. Pure; the views decide what a command does. */

export type Command =
  | "terminate"
  | "continue"
  | "allowlist"
  | "inject"
  | "edit"
  | "hold"
  | "finish"
  | "undo"
  | "next"
  | "previous"
  | "turn after"
  | "turn before"
  | "first"
  | "last"
  | "page on"
  | "page back"
  | "next match"
  | "previous match"
  | "open"
  | "select"
  | "fold"
  | "search"
  | "keys"
  | "leave"
  | "go now"
  | "go decisions"
  | "go history"
  | "go policies"
  | "go audit";

const PLAIN: Record<string, Command> = {
  t: "terminate",
  c: "continue",
  a: "allowlist",
  i: "inject",
  e: "edit",
  h: "hold",
  s: "finish",
  z: "undo",
  j: "next",
  k: "previous",
  x: "select",
  Enter: "open",
  f: "fold",
  "/": "search",
  "?": "keys",
  Escape: "leave",
};

/** On a run's page these go through its turns; elsewhere they are the browser's. */
const IN_RUN: Record<string, Command> = {
  "]": "turn after",
  "[": "turn before",
  Home: "first",
  End: "last",
  PageDown: "page on",
  PageUp: "page back",
  n: "next match",
  N: "previous match",
};
/** A held key walks the list, but never answers a second card. */
const WALKS: ReadonlySet<Command | null> = new Set<Command>(["next", "previous", "turn after", "turn before", "page on", "page back", "next match", "previous match"]);

const AFTER_G: Record<string, Command> = {
  n: "go now",
  d: "go decisions",
  h: "go history",
  p: "go policies",
  a: "go audit",
};

export interface KeyPress {
  key: string;
  ctrlKey: boolean;
  metaKey: boolean;
  altKey: boolean;
  repeat: boolean;
}

export interface Where {
  /** The caret is in a field: every letter belongs to the text. */
  typing: boolean;
  /** A button or link has the focus: Enter is its own. */
  onControl: boolean;
  /** `g` was pressed just before. */
  afterG: boolean;
  /** A run's page is open. */
  inRun: boolean;
}

/** Return the command of a key press, or null when the key is not ours. */
export function commandOf(press: KeyPress, where: Where): Command | null {
  if (press.ctrlKey || press.metaKey || press.altKey) return null;
  if (where.typing) return press.key === "Escape" ? "leave" : null;
  if (press.key === "Enter" && where.onControl) return null;
  const key = press.key.length === 1 ? press.key.toLowerCase() : press.key;
  const command = (where.afterG ? AFTER_G[key] : undefined) ?? PLAIN[key] ?? (where.inRun ? (IN_RUN[press.key] ?? IN_RUN[key]) : undefined) ?? null;
  return press.repeat && !WALKS.has(command) ? null : command;
}

export function startsGo(press: KeyPress, where: Where): boolean {
  return press.key === "g" && !where.typing && !press.ctrlKey && !press.metaKey && !press.altKey;
}

/** The list that `?` shows: the keys, and the name of what they mean. */
export const KEYS = [
  ["I", "inject"],
  ["C", "continue"],
  ["A", "allowlist"],
  ["S", "finish"],
  ["T", "terminate"],
  ["E", "edit"],
  ["H", "hold"],
  ["Z", "undo"],
  ["J K", "step"],
  ["X", "select"],
  ["[ ]", "turns"],
  ["Home End", "ends"],
  ["↵", "open"],
  ["F", "fold"],
  ["/", "search"],
  ["N ⇧N", "matches"],
  ["G then N D H P A", "go"],
  ["Esc", "leave"],
  ["?", "list"],
] as const;

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
  | "open"
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
  Enter: "open",
  f: "fold",
  "/": "search",
  "?": "keys",
  Escape: "leave",
};

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
}

/** Return the command of a key press, or null when the key is not ours. */
export function commandOf(press: KeyPress, where: Where): Command | null {
  if (press.ctrlKey || press.metaKey || press.altKey) return null;
  if (where.typing) return press.key === "Escape" ? "leave" : null;
  if (press.key === "Enter" && where.onControl) return null;
  const key = press.key.length === 1 ? press.key.toLowerCase() : press.key;
  const command = (where.afterG ? AFTER_G[key] : undefined) ?? PLAIN[key] ?? null;
  // A held key walks the list, but never answers a second card.
  return press.repeat && command !== "next" && command !== "previous" ? null : command;
}

export function startsGo(press: KeyPress, where: Where): boolean {
  return press.key === "g" && !where.typing && !press.ctrlKey && !press.metaKey && !press.altKey;
}

/** The list that `?` shows. */
export const KEYS: readonly (readonly [keys: string, meaning: string])[] = [
  ["I", "inject the fix, allow more budget"],
  ["C", "continue"],
  ["A", "allowlist the call"],
  ["S", "have it sum up and finish"],
  ["T", "terminate, after 5 s; again: now"],
  ["E", "edit the fix"],
  ["H", "hold the agent"],
  ["Z", "undo"],
  ["J K", "next, previous card"],
  ["↵", "open the run"],
  ["F", "fold the loop"],
  ["/", "search"],
  ["G then N D H A", "go to Now, Decisions, History, Audit"],
  ["Esc", "leave a field, close"],
  ["?", "this list"],
];

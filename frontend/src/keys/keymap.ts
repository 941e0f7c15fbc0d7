/**
 * Which key means what. Pure; the views decide what a command does.
 *
 * There is one list, for the handlers, the `?` sheet, the keys shown on buttons and the
 * shortcuts announced to screen readers.
 */

/** Where a key works: everywhere · on a run's page (elsewhere it is the browser's) · after `g`. */
type Place = "everywhere" | "run" | "after g";

interface Binding {
  key: string;
  command: string;
  /** The line of the sheet that describes it; several keys may share one. */
  line: string;
  place?: Place;
  /** Whether a held key repeats: it may move in a list, but never answer a second card. */
  walks?: true;
}

export const BINDINGS = [
  { key: "i", command: "inject", line: "inject" },
  { key: "y", command: "allow once", line: "permit" },
  { key: "d", command: "deny", line: "permit" },
  { key: "$", command: "allow budget", line: "allow" },
  { key: "c", command: "continue", line: "continue" },
  { key: "a", command: "allowlist", line: "allowlist" },
  { key: "s", command: "finish", line: "finish" },
  { key: "t", command: "terminate", line: "terminate" },
  { key: "e", command: "edit", line: "edit" },
  { key: "h", command: "hold", line: "hold" },
  { key: "z", command: "undo", line: "undo" },
  { key: "j", command: "next", line: "step", walks: true },
  { key: "k", command: "previous", line: "step", walks: true },
  { key: "x", command: "select", line: "select" },
  { key: "[", command: "turn before", line: "turns", place: "run", walks: true },
  { key: "]", command: "turn after", line: "turns", place: "run", walks: true },
  { key: "PageUp", command: "page back", line: "pages", place: "run", walks: true },
  { key: "PageDown", command: "page on", line: "pages", place: "run", walks: true },
  { key: "Home", command: "first", line: "ends", place: "run" },
  { key: "End", command: "last", line: "ends", place: "run" },
  { key: "Enter", command: "open", line: "open" },
  { key: "f", command: "fold", line: "fold" },
  { key: "/", command: "search", line: "search" },
  { key: "m", command: "message", line: "message", place: "run" },
  { key: "n", command: "next match", line: "matches", place: "run", walks: true },
  { key: "N", command: "previous match", line: "matches", place: "run", walks: true },
  { key: "n", command: "go now", line: "go", place: "after g" },
  { key: "d", command: "go decisions", line: "go", place: "after g" },
  { key: "h", command: "go history", line: "go", place: "after g" },
  { key: "c", command: "go costs", line: "go", place: "after g" },
  { key: "p", command: "go policies", line: "go", place: "after g" },
  { key: "a", command: "go audit", line: "go", place: "after g" },
  { key: "Escape", command: "leave", line: "leave" },
  { key: "?", command: "keys", line: "list" },
] as const satisfies readonly Binding[];

type Bound = (typeof BINDINGS)[number];
export type Command = Bound["command"];
export type Line = Bound["line"];

const ALL: readonly (Binding & { command: Command; line: Line })[] = BINDINGS;
const placeOf = ({ place }: Binding): Place => place ?? "everywhere";
const keysIn = (place: Place): ReadonlyMap<string, Command> =>
  new Map(ALL.filter((one) => placeOf(one) === place).map(({ key, command }) => [key, command]));

const EVERYWHERE = keysIn("everywhere");
const IN_RUN = keysIn("run");
const AFTER_G = keysIn("after g");
const WALKS: ReadonlySet<Command> = new Set(
  ALL.filter(({ walks }) => walks).map(({ command }) => command),
);

export interface KeyPress {
  key: string;
  ctrlKey: boolean;
  metaKey: boolean;
  altKey: boolean;
  repeat: boolean;
}

export interface KeyContext {
  /** Whether a text field has the focus, to which every letter belongs. */
  typing: boolean;
  /** Whether a button or link has the focus, to which Enter belongs. */
  onControl: boolean;
  /** Whether `g` was pressed just before. */
  afterG: boolean;
  /** Whether a run's page is open. */
  inRun: boolean;
}

/** Return the command of a key press, or null when the key is not ours. */
export function commandOf(press: KeyPress, where: KeyContext): Command | null {
  if (!isPlain(press)) return null;
  if (where.typing) return press.key === "Escape" ? "leave" : null;
  if (press.key === "Enter" && where.onControl) return null;
  const key = press.key.length === 1 ? press.key.toLowerCase() : press.key;
  const command =
    (where.afterG ? AFTER_G.get(key) : undefined) ??
    EVERYWHERE.get(key) ??
    (where.inRun ? (IN_RUN.get(press.key) ?? IN_RUN.get(key)) : undefined);
  return command === undefined || (press.repeat && !WALKS.has(command)) ? null : command;
}

export function startsGoTo(press: KeyPress, where: KeyContext): boolean {
  return press.key === "g" && !where.typing && isPlain(press);
}

/** Return whether no modifier for commands of the browser or system is held. */
export function isPlain({ ctrlKey, metaKey, altKey }: KeyPress): boolean {
  return !ctrlKey && !metaKey && !altKey;
}

/** A line of the sheet: its keys as shown, those after `g` separately, and what they do. */
export interface SheetLine {
  line: Line;
  afterG: boolean;
  keys: readonly string[];
}

export function sheet(): SheetLine[] {
  const lines = [...new Set(ALL.map(({ line }) => line))];
  return lines.map((line) => {
    const inLine = ALL.filter((one) => one.line === line);
    return {
      line,
      afterG: inLine.some((one) => placeOf(one) === "after g"),
      keys: inLine.map(({ key }) => drawn(key)),
    };
  });
}

/** Return a command's key as it is shown on its button. */
export function keyOf(command: Command): string {
  return drawn(ALL.find((one) => one.command === command)?.key ?? "");
}

/** Return a command's key in the form of `aria-keyshortcuts`. */
export function shortcutOf(command: Command): string {
  const key = ALL.find((one) => one.command === command)?.key ?? "";
  if (isShifted(key)) return `Shift+${key}`;
  return key.length === 1 ? key.toUpperCase() : key;
}

/** Return whether the key is a letter with Shift. */
const isShifted = (key: string): boolean => /^[A-Z]$/.test(key);

function drawn(key: string): string {
  if (isShifted(key)) return `⇧${key}`;
  if (key.length === 1) return key.toUpperCase();
  return { Enter: "↵", Escape: "Esc", PageUp: "PgUp", PageDown: "PgDn" }[key] ?? key;
}

/** Which entries match a line typed into the palette, and their order. Pure. */
import { answersOf, COMMANDS, MAX_BUTTON_FIX } from "../../card/answers";
import { folded } from "../../format/plain";
import { permissionOf, fitsOneLine } from "../../format/words";
import { keyOf, type Command } from "../../keys/keymap";
import type { Action, DecisionRow, RunRow } from "../../wire/types";

/** Actions, then runs, then matches in turns, then unnamed answers, then screens. */
export const GROUPS = ["do", "runs", "turns", "answers", "go"] as const;
export type Group = (typeof GROUPS)[number];

export interface Entry {
  /** Identifies the entry: two runs may share a name. */
  id: string;
  kind: "card" | "run" | "turn" | "screen" | "setting" | "project" | "action";
  label: string;
  detail: string;
  /** The command whose key does the same outside the palette. */
  command?: Command | undefined;
  /** The text sent with it, shown in full before it can be sent. */
  text?: string | undefined;
  /** For an answer to a card: its name, and the run that it affects. */
  answers?: { called: string; run: string };
  /** Listed only if its label is typed, and last. */
  isLast?: boolean;
  act: () => void;
}

const MAX_ENTRIES = 12;
const MIN_TYPED = 3;

export type Listed = Entry & { group: Group };

/**
 * Return the entries by group, each in the given order; what cannot be undone is last of all.
 *
 * Typing a run's name and Enter opens the run: an answer to a card is listed among the actions
 * only if the line names both the answer and its run, and is not the name of a run.
 */
export function inGroups(entries: readonly Entry[], line: string): Listed[] {
  const words = wordsOf(line);
  const namesRun = entries.some(
    ({ kind, label }) => kind === "run" && words.every((word) => folded(label).includes(word)),
  );
  const groupOf = ({ kind, answers }: Entry): Group => {
    if (answers && (namesRun || !isNamed(answers, words))) return "answers";
    if (kind === "action") return "do";
    if (kind === "card" || kind === "run") return "runs";
    return kind === "turn" ? "turns" : "go";
  };
  const place = ({ isLast, group }: Listed): number =>
    isLast ? GROUPS.length : GROUPS.indexOf(group);
  return entries
    .map((entry) => ({ ...entry, group: groupOf(entry) }))
    .sort((a, b) => place(a) - place(b));
}

/** Each word must occur in label or detail; labels that begin with the line come first. */
export function rank(entries: readonly Entry[], line: string, max = MAX_ENTRIES): Entry[] {
  const words = wordsOf(line);
  return entries
    .filter((entry) => !entry.isLast || isTyped(entry, words))
    .map((entry, place) => ({ entry, place, score: scoreOf(entry, words) }))
    .filter(({ score }) => score >= 0)
    .sort((a, b) => b.score - a.score || a.place - b.place)
    .slice(0, max)
    .map(({ entry }) => entry);
}

function wordsOf(line: string): string[] {
  return folded(line).split(/\s+/).filter(Boolean);
}

function isNamed({ called, run }: { called: string; run: string }, words: string[]): boolean {
  const name = folded(run);
  // By two words: "con" alone begins "Continue", but is also in "config" and means that run.
  return words.some(
    (verb, at) => begins(called, verb) && words.some((word, i) => i !== at && name.includes(word)),
  );
}

function begins(called: string, word: string): boolean {
  return word.length >= MIN_TYPED && wordsOf(called).some((one) => one.startsWith(word));
}

function isTyped({ label }: Entry, words: readonly string[]): boolean {
  const name = folded(label);
  return words.some((word) => word.length >= MIN_TYPED && name.startsWith(word));
}

/** Return the score of an entry; -1: it does not match. */
function scoreOf({ label, detail }: Entry, words: readonly string[]): number {
  const [name, more] = [folded(label), folded(detail)];
  if (!words.every((word) => name.includes(word) || more.includes(word))) return -1;
  const [first = ""] = words;
  if (name.startsWith(words.join(" "))) return 3;
  if (name.split(/[\s/_.-]+/).some((part) => part.startsWith(first))) return 2;
  return name.includes(first) ? 1 : 0;
}

/** Split a label into the parts before, at and after the match. */
export function partsOf(label: string, line: string): [before: string, hit: string, after: string] {
  const [name, typed] = [folded(label), folded(line.trim())];
  // If accents are separate characters, positions in the folded text differ from the label's.
  const hit = [typed, ...typed.split(/\s+/)].find((words) => words !== "" && name.includes(words));
  if (hit === undefined || name.length !== label.length) return [label, "", ""];
  const at = name.indexOf(hit);
  return [label.slice(0, at), label.slice(at, at + hit.length), label.slice(at + hit.length)];
}

export interface CardAction {
  action: Action;
  words: string;
  second: string;
  command: Command | null;
  text: string;
  /** Whether it is too long to be shown here; the card shows it in full. */
  isRead: boolean;
}

/** Return the answers of a card that can be given here, in the order of its buttons. */
export function cardActionsOf(
  decision: DecisionRow,
  run: RunRow | null,
  fix: string,
): CardAction[] {
  const asks = permissionOf(decision);
  return answersOf(decision, fix, run)
    .filter(({ unavailable }) => unavailable === null)
    .map(({ action, label, second }) => {
      const text = action === "inject" ? fix : action === "allow_once" ? (asks?.text ?? "") : "";
      const isRead =
        action === "allow_once"
          ? asks === null || !fitsOneLine(asks)
          : text.length > MAX_BUTTON_FIX;
      return { action, words: label, second, command: COMMANDS[action], text, isRead };
    });
}

/** Return a command's key as its row shows it. */
export function keyWords(command: Command): string {
  return command.startsWith("go ") ? `G ${keyOf(command)}` : keyOf(command);
}

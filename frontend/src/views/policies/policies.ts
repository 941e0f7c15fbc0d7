/** A draft of a policy, the texts of its rules, and backtest results. Pure. */
import { isNumber, typedNumber } from "../../format/typedNumber";
import { policies as t } from "../../messages/texts";
import type { PolicyChange, PolicyProblem, PolicyRule } from "../../wire/types";

/** A policy as it is sent: the text of a file, or the tables of the form. */
export type Draft = string | Tables;
export type Tables = Readonly<Record<string, unknown>>;

/** The main limits; every other setting is under *Advanced*. */
export const LIMITS = [
  { name: "call", section: "repeat", field: "calls" },
  { name: "error", section: "errors", field: "same" },
  { name: "circles", section: "repeat", field: "rounds" },
  { name: "nothing", section: "stagnation", field: "questions" },
  { name: "budget", section: "budget", field: "usd" },
] as const;
const SENSITIVITY = "sensitivity";
const KINDS: Partial<Record<string, keyof typeof t.presets>> = {
  conservative: "quiet",
  strict: "watchful",
  quiet: "quiet",
  watchful: "watchful",
  balanced: "balanced",
  default: "balanced",
};

export interface RuleGroup {
  section: string;
  words: string;
  on: boolean;
  rules: readonly PolicyRule[];
}

export function wordsOf(section: string): string {
  const names: Partial<Record<string, string>> = t.names;
  const words = names[section] ?? section.replace(/_/g, " ");
  return words.charAt(0).toUpperCase() + words.slice(1);
}

export function unitOf(field: string): string {
  const units: Partial<Record<string, string>> = t.units;
  return units[field] ?? field.replace(/_/g, " ");
}

/** Tables of settings for one tool, one agent or one task type. */
const OF_ONE: readonly string[] = ["tool", "agent", "task_type"];

/** Return the form's name of a setting such as `repeat.calls`, or the setting itself. */
export function labelOf(setting: string): string {
  const [section = "", field = "", ...deeper] = setting.split(".");
  if (OF_ONE.includes(section) && deeper.length > 0)
    // A name may contain dots.
    return `${labelOf(deeper.slice(-2).join("."))} (${[field, ...deeper.slice(0, -2)].join(".")})`;
  if (setting === "ladder.every.trip") return t.whenTrips;
  if (setting === "ladder.every.nudge") return t.whenNearlySure;
  if (deeper.length > 0) return setting;
  const limit = LIMITS.find((one) => one.section === section && one.field === field);
  return limit ? t.limit[limit.name].name : `${wordsOf(section)} ${unitOf(field)}`.trim();
}

/** Group rules by detector; enabled ones come first, in the policy's order. */
export function groupsOf(rules: readonly PolicyRule[]): RuleGroup[] {
  const groups = new Map<string, PolicyRule[]>();
  for (const rule of rules) groups.set(rule.section, [...(groups.get(rule.section) ?? []), rule]);
  const all = [...groups].map(([section, inside]) => ({
    section,
    words: wordsOf(section),
    on: inside[0]?.on ?? false,
    rules: inside,
  }));
  return [...all.filter(({ on }) => on), ...all.filter(({ on }) => !on)];
}

/** Return the value of a field: the typed one, or else the one in force. */
export function shownValue(draft: Draft, rule: PolicyRule): string {
  const typed = inside(draft, rule.section)[rule.field];
  return textOf(typed === undefined ? rule.value : typed);
}

/** Set one rule. A value that is no number is kept, for the check to report; "" is no budget. */
export function withRule(draft: Tables, section: string, field: string, typed: string): Tables {
  const { [field]: _, ...others } = inside(draft, section);
  if (section === "budget" && typed.trim() === "") return { ...draft, [section]: others };
  const value = section === "budget" ? typedNumber(typed) : readValue(typed);
  return { ...draft, [section]: { ...inside(draft, section), [field]: value } };
}

export function withSensitivity(draft: Tables, sensitivity: number): Tables {
  return { ...draft, [SENSITIVITY]: sensitivity };
}

export function sensitivityOf(draft: Draft): number | null {
  const value = typeof draft === "string" ? null : draft[SENSITIVITY];
  return typeof value === "number" ? value : null;
}

export function withLadder(draft: Tables, field: string, value: string | null): Tables {
  const ladder = inside(draft, "ladder");
  const every = { ...tableOf(ladder.every), [field]: value };
  return { ...draft, ladder: { ...ladder, every } };
}

export function ladderOf(draft: Draft, field: string): string | null {
  const value = tableOf(inside(draft, "ladder").every)[field];
  return typeof value === "string" ? value : null;
}

/** Start from a preset, but keep tables for tools, agents and task types. */
export function withPreset(draft: Tables, name: string): Tables {
  const kept = Object.entries(draft).filter(([key]) =>
    ["task_type", "tool", "agent"].includes(key),
  );
  return { extends: name, ...Object.fromEntries(kept) };
}

export function presetOf(draft: Draft): string {
  const name = typeof draft === "string" ? null : (draft.extends ?? draft.preset);
  return typeof name === "string" ? name : "balanced";
}

/** Return the page's name of a preset of any release; null: it offers no such preset. */
export function kindOf(preset: string): keyof typeof t.presets | null {
  return KINDS[preset] ?? null;
}

export function isLimit(section: string, field: string): boolean {
  return LIMITS.some((limit) => limit.section === section && limit.field === field);
}

/** Return how many settings under *Advanced* differ from the preset. */
export function advancedChanges(changes: readonly PolicyChange[]): number {
  return changes.filter(
    ({ field }) =>
      field !== SENSITIVITY && !LIMITS.some((limit) => `${limit.section}.${limit.field}` === field),
  ).length;
}

export function problemOf(
  problems: readonly PolicyProblem[],
  rule: PolicyRule,
): PolicyProblem | null {
  return problems.find(({ field }) => field === `${rule.section}.${rule.field}`) ?? null;
}

/**
 * Return typed dollar amounts that may mean thousands, which the server would read as decimals; it
 * refuses other text. Amounts already in force are accepted.
 */
export function unclear(draft: Draft, saved: Draft): PolicyProblem[] {
  const { usd } = inside(draft, "budget");
  const isTyped = typeof usd === "string" && usd !== inside(saved, "budget").usd;
  return isTyped && Number.isFinite(Number(usd)) && !isNumber(usd)
    ? [{ field: "budget.usd", expected: t.dollars, got: usd }]
    : [];
}

/** Return the problems that no field of the form shows. */
export function otherProblems(
  problems: readonly PolicyProblem[],
  rules: readonly PolicyRule[],
): PolicyProblem[] {
  return problems.filter((problem) => !rules.some((rule) => problemOf([problem], rule)));
}

export function sameDraft(one: Draft, other: Draft): boolean {
  return JSON.stringify(one) === JSON.stringify(other);
}

/** Apply the changes of `mine` against `base` to `theirs`; in conflicts, `mine` wins. */
export function rebased(base: Tables, mine: Tables, theirs: Tables): Tables {
  const names = [...new Set([...Object.keys(theirs), ...Object.keys(mine)])];
  const merged = names.map((name): [string, unknown] => {
    const [was, is] = [base[name], mine[name]];
    if (JSON.stringify(was) === JSON.stringify(is)) return [name, theirs[name]];
    return isTable(is) && isTable(theirs[name])
      ? [name, rebased(tableOf(was), is, theirs[name])]
      : [name, is];
  });
  return Object.fromEntries(merged.filter(([, value]) => value !== undefined));
}

function readValue(typed: string): string | number | boolean {
  const text = typed.trim();
  if (text === "true" || text === "false") return text === "true";
  return isNumber(text) ? Number(typedNumber(text)) : text;
}

function inside(draft: Draft, name: string): Tables {
  return typeof draft === "string" ? {} : tableOf(draft[name]);
}

function isTable(value: unknown): value is Tables {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function tableOf(value: unknown): Tables {
  return isTable(value) ? value : {};
}

function textOf(value: unknown): string {
  if (typeof value === "string") return value;
  if (Array.isArray(value)) return value.map(textOf).join(", ");
  return value === null || value === undefined ? "" : JSON.stringify(value);
}

/** A draft of a policy, the words for its rules, and what a backtest says. Pure. */
import t from "../messages/en/policies";
import type { BacktestRow, PolicyProblem, PolicyRule } from "../wire/types";

/** A policy as it is sent: the text of a file, or the tables a form fills. */
export type Draft = string | Tables;
export type Tables = Readonly<Record<string, unknown>>;

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

/** Rules by detector; those that look come first, in the policy's order. */
export function groupsOf(rules: readonly PolicyRule[]): RuleGroup[] {
  const groups = new Map<string, PolicyRule[]>();
  for (const rule of rules) groups.set(rule.section, [...(groups.get(rule.section) ?? []), rule]);
  const all = [...groups].map(([section, inside]) => ({
    section, words: wordsOf(section), on: inside[0]?.on ?? false, rules: inside,
  }));
  return [...all.filter(({ on }) => on), ...all.filter(({ on }) => !on)];
}

/** What stands in the field: what was typed, else what is in force. */
export function shownValue(draft: Draft, rule: PolicyRule): string {
  const typed = inside(draft, rule.section)[rule.field];
  return textOf(typed === undefined ? rule.value : typed);
}

/** Set one rule. A value that is no number stays as it is: the check says so. */
export function withRule(draft: Tables, section: string, field: string, typed: string): Tables {
  return { ...draft, [section]: { ...inside(draft, section), [field]: readValue(typed) } };
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

/** Start from a preset; tables for tools, agents and task types stay. */
export function withPreset(draft: Tables, name: string): Tables {
  const kept = Object.entries(draft).filter(([key]) => ["task_type", "tool", "agent"].includes(key));
  return { extends: name, ...Object.fromEntries(kept) };
}

export function presetOf(draft: Draft): string {
  const name = typeof draft === "string" ? null : (draft.extends ?? draft.preset);
  return typeof name === "string" ? name : "balanced";
}

export function problemOf(problems: readonly PolicyProblem[], rule: PolicyRule): PolicyProblem | null {
  return problems.find(({ field }) => field === `${rule.section}.${rule.field}`) ?? null;
}

/** Problems that no field of the form shows. */
export function otherProblems(problems: readonly PolicyProblem[], rules: readonly PolicyRule[]): PolicyProblem[] {
  return problems.filter((problem) => !rules.some((rule) => problemOf([problem], rule)));
}

export function sameDraft(one: Draft, other: Draft): boolean {
  return JSON.stringify(one) === JSON.stringify(other);
}

/** The first thing that is read: what the draft would have done differently. */
export function sentenceOf(row: BacktestRow): string {
  if (row.status === "failed") return t.sentence.failed;
  if (row.status !== "done") return t.sentence.replaying(row.done, row.total);
  if (row.total === 0) return t.sentence.noRun;
  const { proposed, today } = row;
  const loops = proposed.loops_found - today.loops_found;
  const healthy = proposed.healthy_flagged - today.healthy_flagged;
  if (loops === 0 && healthy === 0) return t.sentence.flags(proposed.flagged - today.flagged);
  if (healthy === 0) return t.sentence.finds(loops);
  return loops === 0 ? t.sentence.flagsHealthy(healthy) : t.sentence.both(loops, healthy);
}

/** What kind of difference a run makes: only the draft flags it, only today's does, or another turn. */
export function differenceOf(run: BacktestRow["runs"][number]): string {
  const { proposed, today } = run;
  if (proposed && !today) return t.difference.onlyDraft(proposed.alarm_turn + 1);
  if (today && !proposed) return t.difference.onlyToday(today.alarm_turn + 1);
  if (!proposed || !today) return "";
  if (proposed.alarm_turn === today.alarm_turn) {
    return proposed.stop_turn === today.stop_turn ? t.difference.sameTurn(proposed.detector.replace(/_/g, " ")) : t.difference.ended;
  }
  return t.difference.otherTurn(proposed.alarm_turn + 1, today.alarm_turn + 1);
}

function readValue(typed: string): string | number | boolean {
  const text = typed.trim();
  if (text === "true" || text === "false") return text === "true";
  return text !== "" && Number.isFinite(Number(text)) ? Number(text) : text;
}

function inside(draft: Draft, name: string): Tables {
  return typeof draft === "string" ? {} : tableOf(draft[name]);
}

function tableOf(value: unknown): Tables {
  return typeof value === "object" && value !== null && !Array.isArray(value) ? { ...value } : {};
}

function textOf(value: unknown): string {
  if (typeof value === "string") return value;
  if (Array.isArray(value)) return value.map(textOf).join(", ");
  return value === null || value === undefined ? "" : JSON.stringify(value);
}

/** A project's settings as form values. Pure. */
import { roundMoney, whole } from "../../format/numbers";
import { shownNumber, typedNumber } from "../../format/typedNumber";
import { members as t, words } from "../../messages/texts";
import type { ProjectPatch, ProjectRow } from "../../wire/types";

/** The ceilings in the form, by scope and unit; others stay as they are. */
export const CEILINGS = [
  { scope: "run", unit: "usd", name: "runDollars" },
  { scope: "run", unit: "turns", name: "runTurns" },
  { scope: "day", unit: "usd", name: "dayDollars" },
  { scope: "project", unit: "usd", name: "projectDollars" },
] as const;
export type Ceiling = (typeof CEILINGS)[number];

export interface Draft {
  mode: ProjectRow["mode"];
  unanswered: ProjectRow["unanswered"];
  fail: ProjectRow["fail"];
  agents_choose: boolean;
  daily_report: boolean;
  /** Days, as typed; "" is for ever. */
  keepWords: string;
  /** Minutes, as typed. */
  hold: string;
  zone: string;
  /** `scope.unit` -> as typed; "" is no ceiling. */
  ceilings: Record<string, string>;
}

export function draftOf(project: ProjectRow): Draft {
  const { mode, unanswered, fail, agents_choose, daily_report } = project;
  const ceilings = Object.fromEntries(
    CEILINGS.map((one) => [keyOf(one), shownNumber(ceilingOf(project, one))]),
  );
  return {
    mode,
    unanswered,
    fail,
    agents_choose,
    daily_report,
    keepWords: project.keep_words_days ? String(project.keep_words_days) : "",
    hold: shownNumber(String(project.hold_limit / 60)),
    zone: project.time_zone,
    ceilings,
  };
}

/** Return only what differs, so that other people's changes of the rest are kept. */
export function patchOf(project: ProjectRow, draft: Draft): Partial<ProjectPatch> {
  const was = draftOf(project);
  const patch: Partial<ProjectPatch> = {};
  if (draft.mode !== was.mode) patch.mode = draft.mode;
  if (draft.unanswered !== was.unanswered) patch.unanswered = draft.unanswered;
  if (draft.fail !== was.fail) patch.fail = draft.fail;
  if (draft.agents_choose !== was.agents_choose) patch.agents_choose = draft.agents_choose;
  if (draft.daily_report !== was.daily_report) patch.daily_report = draft.daily_report;
  if (draft.keepWords.trim() !== was.keepWords) patch.keep_words_days = Number(draft.keepWords);
  if (draft.hold !== was.hold) patch.hold_limit = Math.round(Number(typedNumber(draft.hold)) * 60);
  if (draft.zone !== was.zone) patch.time_zone = draft.zone.trim();
  const budgets = budgetsOf(project, draft, was);
  if (budgets) patch.budgets = budgets;
  return patch;
}

/** Return a project's rules in a few words: the mode of its runs, and the budgets of the form. */
export function rulesOf(project: ProjectRow): string[] {
  const budgets = CEILINGS.flatMap((one) => {
    const amount = ceilingOf(project, one);
    if (amount === "") return [];
    return [t.rules[one.name](one.unit === "usd" ? roundMoney(amount) : whole(Number(amount)))];
  });
  return [t.rules.mode(words.modes[project.mode]), ...budgets];
}

export function keyOf({ scope, unit }: Ceiling): string {
  return `${scope}.${unit}`;
}

function budgetsOf(project: ProjectRow, draft: Draft, was: Draft): Record<string, unknown> | null {
  const moved = CEILINGS.filter((one) => draft.ceilings[keyOf(one)] !== was.ceilings[keyOf(one)]);
  if (moved.length === 0) return null;
  const budgets: Record<string, Record<string, unknown>> = {};
  for (const { scope, unit } of moved) {
    const kept = Object.entries(budgets[scope] ?? tableOf(project.budgets, scope)).filter(
      ([name]) => name !== unit,
    );
    const typed = typedNumber(draft.ceilings[`${scope}.${unit}`]?.trim() ?? "");
    budgets[scope] = Object.fromEntries(
      typed === "" ? kept : [...kept, [unit, unit === "usd" ? typed : Number(typed)]],
    );
  }
  return budgets;
}

function ceilingOf(project: ProjectRow, { scope, unit }: Ceiling): string {
  const value = tableOf(project.budgets, scope)[unit];
  return typeof value === "string" || typeof value === "number" ? String(value) : "";
}

function tableOf(budgets: Record<string, unknown>, scope: string): Record<string, unknown> {
  const table = budgets[scope];
  return typeof table === "object" && table !== null ? { ...table } : {};
}

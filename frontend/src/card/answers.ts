/** Which answers a card offers, their texts, and what a tap on one sends. Pure. */
import type { Action, DecisionRow, Evidence, RunRow, Scope } from "../wire/types";
import type { TapRequest } from "../sync/taps.svelte";
import { arrivalWords, budgetStep } from "../format/words";
import { keyOf, type Command } from "../keys/keymap";
import { card as t } from "../messages/texts";

export interface Answer {
  action: Action;
  /** The label; the button's accessible name starts with it. */
  label: string;
  /** What a tap does. */
  second: string;
  /** A shorter `second`, for small buttons. */
  brief: string;
  key: string;
  /** The suggested answer: its button is filled if its card has the focus. */
  promoted: boolean;
  /** Why the agent cannot do it; null when it can. */
  unavailable: string | null;
}

/** Longer fixes can be injected only where they are shown in full. */
export const MAX_BUTTON_FIX = 120;

/** Return the beginning of a fix that is shown in full elsewhere, cut between words. */
export function shortFix(fix: string): string {
  const signs = [...fix];
  if (signs.length <= MAX_BUTTON_FIX) return fix;
  // One more character, to see whether the last word ends at the limit.
  const words = signs
    .slice(0, MAX_BUTTON_FIX + 1)
    .join("")
    .replace(/[.,;:]?\s+\S*$/, "");
  return `${[...words].slice(0, MAX_BUTTON_FIX).join("")}…`;
}

const ORDER: readonly Action[] = [
  "allow_once",
  "deny",
  "allow_budget",
  "inject",
  "pause",
  "continue",
  "allowlist",
  "finish",
  "terminate",
];
/** Which keyboard command gives which answer; `restart` is not offered on cards. */
export const COMMANDS = {
  allow_once: "allow once",
  deny: "deny",
  allow_budget: "allow budget",
  inject: "inject",
  pause: "hold",
  continue: "continue",
  allowlist: "allowlist",
  finish: "finish",
  terminate: "terminate",
  restart: null,
  undo: null,
} as const satisfies Record<Action, Command | null>;

/** Return the answer that a command gives on a card that offers these; null: none. */
export function actionOf(command: Command, offered: readonly Action[]): Action | null {
  return offered.find((action) => COMMANDS[action] === command) ?? null;
}

/** Return the card's answers in their fixed order; unavailable ones keep their place. */
export function answersOf(
  decision: DecisionRow,
  fix: string,
  run: RunRow | null = null,
  descendants = 0,
): Answer[] {
  const offered = ORDER.filter(
    (action) => decision.actions.includes(action) || action in decision.unavailable,
  );
  return offered.map((action) => ({
    action,
    label: labelOf(action, decision, fix),
    second: effectOf(action, decision, run, descendants),
    brief: shortTextOf(action) ?? effectOf(action, decision, run, descendants),
    key: keyOfAction(action),
    promoted:
      action === "allow_once" ||
      action === "allow_budget" ||
      (action === "inject" && fix !== "" && decision.actions.includes("inject")),
    unavailable: decision.actions.includes(action) ? null : (decision.unavailable[action] ?? null),
  }));
}

function keyOfAction(action: Action): string {
  const command = COMMANDS[action];
  return command === null ? "" : keyOf(command);
}

function shortTextOf(action: Action): string | undefined {
  const { brief }: { brief: Partial<Record<Action, string>> } = t;
  return brief[action];
}

function labelOf(action: Action, decision: DecisionRow, fix: string): string {
  switch (action) {
    case "inject":
      return fix === "" ? t.answers.writeFix : t.answers.inject;
    case "allow_budget":
      return t.answers.allowMore(budgetStep(decision.evidence).label);
    case "terminate":
      return decision.kind === "budget" ? t.answers.stop : t.answers.terminate;
    default:
      return t.answers[action];
  }
}

function effectOf(
  action: Action,
  decision: DecisionRow,
  run: RunRow | null,
  descendants: number,
): string {
  switch (action) {
    case "inject":
      // The answer to a parked call arrives when its session is resumed.
      return decision.holds && (!decision.gave_up_at || decision.parked)
        ? t.second.skipped
        : t.second.reads(arrivalWords(run, false));
    case "allow_budget":
      return raiseText(decision.evidence);
    case "terminate":
      return descendants > 0 ? t.second.endsAlong(descendants) : t.second.ends;
    case "pause":
      return t.second.waits;
    case "continue":
      return decision.holds ? t.second.newCount : t.second.isFine;
    case "allowlist":
      return t.second.neverFlags;
    case "finish":
      return t.second.sumsUp;
    case "restart":
      return t.second.fresh;
    case "undo":
      return t.second.takesBack;
    case "allow_once":
      return t.second.runsOnce;
    case "deny":
      return t.second.doesNotRun;
  }
}

/** A shared ceiling is raised for all its runs; a day's or the organisation's, for that day. */
function raiseText({ scope }: Evidence): string {
  if (scope === "day") return t.second.today;
  if (scope === "organisation") return t.second.everywhere;
  return scope === null || scope === "run" ? t.second.ceiling : t.second.shared;
}

/** Return the fix as it would be sent: the person's text, or else the judge's proposal. */
export function fixOf(decision: DecisionRow, draft: string | undefined): string {
  return (draft ?? decision.verdict?.fix ?? "").trim();
}

export function tapRequestOf(
  decision: DecisionRow,
  action: Action,
  extra: { fix?: string; scope?: Scope } = {},
): TapRequest {
  return {
    run: decision.run,
    runName: decision.run_name,
    action,
    decision: decision.id,
    version: decision.version,
    message: action === "inject" || action === "deny" ? extra.fix : undefined,
    amount: action === "allow_budget" ? amountOf(decision) : undefined,
    scope: action === "allowlist" ? extra.scope : undefined,
  };
}

/** A tap on the run itself. It needs no version, so that the stop button always works. */
export function runTapRequest(run: RunRow, action: Action): TapRequest {
  const free = action === "pause" || action === "terminate" || action === "restart";
  const { id, name, version } = run;
  return { run: id, runName: name, action, decision: null, version: free ? null : version };
}

function amountOf(decision: DecisionRow): Record<string, string | number> {
  const { unit } = decision.evidence;
  const { amount } = budgetStep(decision.evidence);
  return { [unit ?? "usd"]: unit === "usd" ? amount.toFixed(2) : amount };
}

/** Which answers a card offers, in which words, and what a tap on one sends. Pure. */
import type { Action, DecisionRow, Evidence, RunRow, Scope } from "../wire/types";
import type { Wish } from "../sync/taps.svelte";
import { arrivalWords, budgetStep } from "../format/words";
import { keyOf, type Command } from "../keys/keymap";
import { card as t } from "../messages/texts";

export interface Answer {
  action: Action;
  /** What it is called; the button's accessible name starts with it. */
  label: string;
  /** What happens on tap. */
  second: string;
  /** The same where a thumb has little room. */
  brief: string;
  key: string;
  /** The suggested answer: filled, when its card has the focus. */
  promoted: boolean;
  /** Why the agent cannot do it; null when it can. */
  unavailable: string | null;
}

/** Longer fixes are injected only from where they stand in full. */
export const LONGEST_FIX_ON_A_BUTTON = 120;

/** What is shown of a fix that is read elsewhere: cut between words. */
export function beginningOf(fix: string): string {
  const signs = [...fix];
  if (signs.length <= LONGEST_FIX_ON_A_BUTTON) return fix;
  // One sign more tells whether the last word ends there.
  const words = signs
    .slice(0, LONGEST_FIX_ON_A_BUTTON + 1)
    .join("")
    .replace(/[.,;:]?\s+\S*$/, "");
  return `${[...words].slice(0, LONGEST_FIX_ON_A_BUTTON).join("")}…`;
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
/** Which key gives which answer; a card offers no fresh run. */
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

/** What a key answers at a card that offers these; null: nothing. */
export function actionOf(command: Command, offered: readonly Action[]): Action | null {
  return offered.find((action) => COMMANDS[action] === command) ?? null;
}

/** The card's answers in their fixed order; what cannot be done keeps its place. */
export function answersOf(
  decision: DecisionRow,
  fix: string,
  run: RunRow | null = null,
  along = 0,
): Answer[] {
  const offered = ORDER.filter(
    (action) => decision.actions.includes(action) || action in decision.unavailable,
  );
  return offered.map((action) => ({
    action,
    label: labelOf(action, decision, fix),
    second: secondOf(action, decision, run, along),
    brief: briefOf(action) ?? secondOf(action, decision, run, along),
    key: keyFor(action),
    promoted:
      action === "allow_once" ||
      action === "allow_budget" ||
      (action === "inject" && fix !== "" && decision.actions.includes("inject")),
    unavailable: decision.actions.includes(action) ? null : (decision.unavailable[action] ?? null),
  }));
}

function keyFor(action: Action): string {
  const command = COMMANDS[action];
  return command === null ? "" : keyOf(command);
}

function briefOf(action: Action): string | undefined {
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

function secondOf(
  action: Action,
  decision: DecisionRow,
  run: RunRow | null,
  along: number,
): string {
  switch (action) {
    case "inject":
      // A parked call is answered when its session goes on.
      return decision.holds && (!decision.gave_up_at || decision.parked)
        ? t.second.skipped
        : t.second.reads(arrivalWords(run, false));
    case "allow_budget":
      return raises(decision.evidence);
    case "terminate":
      return along > 0 ? t.second.endsAlong(along) : t.second.ends;
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

/** A ceiling that runs share is raised for all of them; a day's and the organisation's, for that day. */
function raises({ scope }: Evidence): string {
  if (scope === "day") return t.second.today;
  if (scope === "organisation") return t.second.everywhere;
  return scope === null || scope === "run" ? t.second.ceiling : t.second.shared;
}

/** The fix as it would be sent: what the person wrote, else what the judge proposed. */
export function fixOf(decision: DecisionRow, draft: string | undefined): string {
  return (draft ?? decision.verdict?.fix ?? "").trim();
}

export function wishOf(
  decision: DecisionRow,
  action: Action,
  extra: { fix?: string; scope?: Scope } = {},
): Wish {
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

/** A tap on the run itself: the stop button always works, so it needs no version. */
export function runWish(run: RunRow, action: Action): Wish {
  const free = action === "pause" || action === "terminate" || action === "restart";
  const { id, name, version } = run;
  return { run: id, runName: name, action, decision: null, version: free ? null : version };
}

function amountOf(decision: DecisionRow): Record<string, string | number> {
  const { unit } = decision.evidence;
  const { amount } = budgetStep(decision.evidence);
  return { [unit ?? "usd"]: unit === "usd" ? amount.toFixed(2) : amount };
}

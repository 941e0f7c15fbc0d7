/** Journal rows described as actions: "opened the run", "ruled a loop, 0.94". Pure. */
import { amountOf, actionWords } from "../../format/words";
import type { FaultPlace } from "../../messages/en/audit";
import { audit as t, record, shell, words as said } from "../../messages/texts";
import { hundredths } from "../../format/numbers";
import type { AuditFault, AuditRow } from "../../wire/types";

/** The views that filter the list by type; the journal itself keeps everything. */
export const VIEWS: readonly (readonly [id: keyof typeof t.views, types: string])[] = [
  [
    "actions",
    "run.opened,run.moved,run.linked,run.imported,detection.raised,escalation.asked,judge.ruled,decision.opened,decision.resolved,hold.abandoned,intervention.made,autofix.applied,autofix.judged,budget.crossed,session.terminated,allowlist.changed,policy.changed,access.changed,chain.anchored,audit.amended,notice.sent,notice.failed",
  ],
  [
    "people",
    "run.imported,intervention.made,allowlist.changed,policy.changed,access.changed,audit.amended",
  ],
  ["cards", "decision.opened,judge.ruled,decision.resolved,autofix.applied,autofix.judged"],
  ["all", ""],
];

/** Things without a name are shown by the first eight letters of their id, as everywhere. */
const ID = /\b([0-9a-f]{8})(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\b/g;

type Payload = Record<string, unknown>;

const ACTION_WORDS: Record<string, (payload: Payload) => string> = {
  "run.opened": () => t.did.opened,
  "run.linked": () => t.did.linked,
  "run.imported": (payload) => t.did.imported(text(payload.file)),
  "turn.recorded": (payload) => t.did.recorded(turn(payload)),
  "turn.completed": (payload) => t.did.completed(turn(payload)),
  "detection.raised": (payload) => t.did.raised(words(payload.detector), turn(payload)),
  "escalation.asked": () => t.did.escalate,
  "judge.asked": (payload) =>
    payload.judge === "local" ? t.did.askedLocal : t.did.asked(text(payload.judge)),
  "judge.ruled": (payload) => ruling(inside(payload.verdict)),
  "decision.opened": () => t.did.card,
  "decision.resolved": (payload) => t.did.closed(actionWords(text(payload.resolution))),
  "hold.abandoned": () => t.did.stoppedWaiting,
  "intervention.made": (payload) => {
    const raised = raisedFigures(payload.raised);
    const { action, decision } = inside(payload.row);
    if (raised) return action === "undo" ? t.did.loweredBudget(raised) : t.did.raisedBudget(raised);
    return action === "inject" && decision === null ? t.did.messaged : actionWords(text(action));
  },
  "message.queued": (payload) => t.did.queued(text(payload.text)),
  "message.delivered": () => t.did.took,
  "autofix.applied": (payload) => t.did.injected(text(inside(payload.row).text)),
  "autofix.judged": (payload) => (payload.recovered === true ? t.did.wentOn : t.did.didNotGoOn),
  "cost.attributed": (payload) =>
    Number(payload.taken_back) > 0
      ? t.did.stoppedCounting(text(payload.source))
      : t.did.counted(text(payload.source)),
  "budget.crossed": (payload) => t.did.reached(text(payload.ceiling), text(payload.unit)),
  "session.terminated": () => t.did.ended,
  "allowlist.changed": (payload) => t.did.allowlist(text(payload.change), text(payload.pattern)),
  "policy.changed": change,
  "access.changed": (payload) =>
    text(payload.what) ? t.did.accessed(text(payload.what).replace(ID, "$1")) : t.did.access,
  "chain.anchored": () => t.did.anchored,
  "audit.amended": (payload) => t.did.amended(text(payload.change), text(payload.reason)),
  "notice.sent": (payload) => t.did.notice(text(payload.channel)),
  "notice.failed": (payload) => t.did.noticeFailed(text(payload.channel)),
};

/** Reasons of status changes that contain a name. A person may have written any text. */
const MOVES: readonly (readonly [RegExp, (what: string, by: string) => string | undefined])[] = [
  [/^Terminated by /, () => t.did.stopping],
  [/^Paused by (.+)\.$/, (who, by) => (who === by ? t.did.paused : undefined)],
  [/^Restarted by (.+)\.$/, (who, by) => (who === by ? t.did.restarted : undefined)],
  [/^Ended with "(.*?)", which started it: /s, (lead) => t.did.endedWith(lead)],
  [/^It had (\d+) turns to finish\.$/, (turns) => t.did.hadTurns(turns)],
  [/^answer (\w+)$/, (status) => t.did.answer[status]],
  [/^mode set to (\w+)$/, (mode) => t.did.mode(mode)],
  [/^the agent reported (\w+)$/, (status) => t.did.reported(status)],
];

/** Describe a status change; the row's own column says who made it, other rows which answer. */
function moved({ by, status, payload }: AuditRow): string {
  const reason = text(payload?.reason);
  for (const [pattern, says] of MOVES) {
    const found = pattern.exec(reason);
    const words = found && says(found[1] ?? "", by);
    if (words) return words;
  }
  if (reason && actionWords(reason) === reason) return t.reasons[reason] ?? record.sentence(reason);
  const statuses: Partial<Record<string, string>> = said.status;
  return t.did.moved(statuses[status ?? ""] ?? "");
}

export function didWords(row: AuditRow): string {
  if (row.type === "run.moved") return moved(row);
  return ACTION_WORDS[row.type]?.(row.payload ?? {}) ?? row.type;
}

/** Return who did it. A checkpoint is made by the server, although its row says `policy`. */
export function whoDid({ type, by }: AuditRow, nameOf: (by: string) => string): string {
  return type === "chain.anchored" ? shell.name : nameOf(by);
}

const THINGS = { channel: "channel", device: "device", "saved view": "view" } as const;
const THING = /^the (channel|device|saved view) “?(.*?)”?$/s;

/** Return whether a row only repeats a budget change that the project's or a tap's row shows. */
export function isEcho(row: AuditRow): boolean {
  return row.type === "run.moved" && row.payload?.reason === "budget changed";
}

const BUDGETS = ["budget", "budgets", "day_extra", "organisation_budget", "organisation_extra"];

function raisedFigures(raised: unknown): string {
  const pairs = Object.entries(inside(raised)).map(([unit, values]) =>
    step(unit, inside(values)[0], inside(values)[1]),
  );
  return pairs.join(", ");
}

/** Return the ceilings that differ: "each run $5.00 → $8.00". */
function budgetFigures(what: string, before: unknown, after: unknown): string {
  const [then, now] = [ceilings(what, before), ceilings(what, after)];
  const moved = [...new Set([...then.keys(), ...now.keys()])].filter(
    (place) => then.get(place) !== now.get(place),
  );
  return moved
    .map((place) => {
      const parts = place.split("/");
      const unit = parts.pop() ?? "";
      return [parts.join(" "), step(unit, then.get(place), now.get(place))]
        .filter((part) => part !== "")
        .join(" ");
    })
    .join(", ");
}

/** Return a budget's ceilings by scope and unit: "project/usd". */
function ceilings(what: string, value: unknown): Map<string, unknown> {
  const found = new Map<string, unknown>();
  const walk = (place: string, inner: unknown) => {
    for (const [name, part] of Object.entries(inside(inner))) {
      if (typeof part === "object") walk(`${place}${name}/`, part);
      else found.set(`${place}${name}`, part);
    }
  };
  if (what === "budget") walk(`${t.scopes.run}/`, value);
  else if (what === "day_extra") walk(`${t.scopes.today}/`, inside(value).more);
  else if (what === "organisation_budget") walk(`${t.scopes.organisation}/`, value);
  else if (what === "organisation_extra")
    walk(`${t.scopes.organisationToday}/`, inside(value).more);
  else
    for (const [scope, part] of Object.entries(inside(value)))
      walk(`${SCOPES.get(scope)?.() ?? scope}/`, part);
  return found;
}

const SCOPES = new Map<string, () => string>([
  ["project", () => t.scopes.project],
  ["day", () => t.scopes.day],
  ["agents", () => t.scopes.agents],
  ["run", () => t.scopes.run],
]);

function step(unit: string, before: unknown, after: unknown): string {
  const said = (value: unknown) =>
    value === null || value === undefined ? t.noCeiling : amountOf(text(value), unit);
  return `${said(before)} → ${said(after)}`;
}

/** Return the verb: named things are added, changed or removed, a setting is always changed. */
function change(payload: Payload): string {
  const what = text(payload.what);
  if (BUDGETS.includes(what))
    return t.did.changedBudget(budgetFigures(what, payload.before, payload.after));
  const [, kind, name = ""] = THING.exec(text(payload.what)) ?? [];
  if (kind !== "channel" && kind !== "device" && kind !== "saved view")
    return t.did.changed(words(payload.what));
  const say =
    payload.before === null ? t.did.added : payload.after === null ? t.did.removed : t.did.altered;
  return say(t.things[THINGS[kind]](name));
}

function ruling(verdict: Payload): string {
  const confidence =
    typeof verdict.confidence === "number" ? `, ${hundredths(verdict.confidence)}` : "";
  return t.did.ruled(verdict.loop === true, confidence);
}

/** Return a fault as a sentence; a kind unknown to this screen in the server's words. */
export function faultWords(fault: AuditFault): string {
  const say: Record<string, (fault: FaultPlace) => string> = t.faults;
  const { seq, what, found, expected } = fault;
  return (
    say[fault.kind]?.({ row: seq === null ? "" : String(seq), what, found, expected }) ??
    fault.words
  );
}

/** Return the number of a turn: the wire counts from 0, people from 1. */
function turn(payload: Payload): string {
  return typeof payload.turn_seq === "number" ? String(payload.turn_seq + 1) : "";
}

function inside(value: unknown): Payload {
  return typeof value === "object" && value !== null ? { ...value } : {};
}

function words(value: unknown): string {
  return text(value).replace(/_/g, " ");
}

function text(value: unknown): string {
  return typeof value === "string" || typeof value === "number" ? String(value) : "";
}

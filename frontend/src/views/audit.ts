/** A journal row as a deed: "opened the run", "ruled a loop, 0.94". Pure. */
import { deed } from "../format/words";
import type { AuditRow } from "../wire/types";

/** What the list may be narrowed to; the journal itself keeps everything. */
export const VIEWS: readonly (readonly [id: string, words: string, types: string])[] = [
  ["deeds", "Without turns", "run.opened,run.moved,run.linked,detection.raised,escalation.asked,judge.ruled,decision.opened,decision.resolved,hold.abandoned,intervention.made,autofix.applied,autofix.judged,budget.crossed,session.terminated,allowlist.changed,policy.changed,access.changed,chain.anchored,notice.sent,notice.failed"],
  ["people", "People", "intervention.made,allowlist.changed,policy.changed,access.changed"],
  ["cards", "Cards", "decision.opened,judge.ruled,decision.resolved,autofix.applied,autofix.judged"],
  ["all", "Everything", ""],
];

type Payload = Record<string, unknown>;

const DEEDS: Record<string, string | ((payload: Payload) => string)> = {
  "run.opened": "opened the run",
  "run.moved": (payload) => text(payload.reason) || "moved the run",
  "run.linked": "linked the run to its parent",
  "turn.recorded": (payload) => `recorded turn ${turn(payload)}`,
  "turn.completed": (payload) => `completed turn ${turn(payload)}`,
  "detection.raised": (payload) => `raised ${words(payload.detector)} at turn ${turn(payload)}`,
  "escalation.asked": "asked to escalate",
  "judge.asked": (payload) => (payload.judge === "local" ? "asked the local judge" : `asked the judge ${text(payload.judge)}`),
  "judge.ruled": (payload) => ruling(inside(payload.verdict)),
  "decision.opened": "opened a card",
  "decision.resolved": (payload) => `closed the card: ${deed(text(payload.resolution))}`,
  "hold.abandoned": "stopped waiting",
  "intervention.made": (payload) => deed(text(inside(payload.row).action)),
  "message.queued": (payload) => `queued “${text(payload.text)}”`,
  "message.delivered": "took the message",
  "autofix.applied": (payload) => `injected “${text(inside(payload.row).text)}”`,
  "autofix.judged": (payload) => (payload.recovered === true ? "went on after the fix" : "did not go on after the fix"),
  "cost.attributed": (payload) =>
    Number(payload.taken_back) > 0 ? `stopped counting cost from ${text(payload.source)}: a better source spoke` : `counted cost from ${text(payload.source)}`,
  "budget.crossed": (payload) => `reached ${text(payload.ceiling)} ${text(payload.unit)}`,
  "session.terminated": "ended the run",
  "allowlist.changed": (payload) => `${text(payload.change)} “${text(payload.pattern)}”`,
  "policy.changed": (payload) => `changed ${words(payload.what)}`,
  "access.changed": (payload) => text(payload.what) || "changed access",
  "chain.anchored": "tied the runs’ chains together",
  "notice.sent": (payload) => `sent a notice by ${text(payload.channel)}`,
  "notice.failed": (payload) => `could not send a notice by ${text(payload.channel)}`,
};

export function didWords(row: AuditRow): string {
  const words = DEEDS[row.type] ?? row.type;
  return typeof words === "string" ? words : words(row.payload ?? {});
}

function ruling(verdict: Payload): string {
  const confidence = typeof verdict.confidence === "number" ? `, ${verdict.confidence.toFixed(2)}` : "";
  return `ruled ${verdict.loop === true ? "a loop" : "no loop"}${confidence}`;
}

/** The wire counts turns from 0, people from 1. */
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

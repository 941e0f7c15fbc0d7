/** A journal row as a deed: "opened the run", "ruled a loop, 0.94". Pure. */
import { deed } from "../format/words";
import t from "../messages/en/audit";
import { similarity } from "../format/numbers";
import type { AuditRow } from "../wire/types";

/** What the list may be narrowed to; the journal itself keeps everything. */
export const VIEWS: readonly (readonly [id: keyof typeof t.views, types: string])[] = [
  ["deeds", "run.opened,run.moved,run.linked,detection.raised,escalation.asked,judge.ruled,decision.opened,decision.resolved,hold.abandoned,intervention.made,autofix.applied,autofix.judged,budget.crossed,session.terminated,allowlist.changed,policy.changed,access.changed,chain.anchored,notice.sent,notice.failed"],
  ["people", "intervention.made,allowlist.changed,policy.changed,access.changed"],
  ["cards", "decision.opened,judge.ruled,decision.resolved,autofix.applied,autofix.judged"],
  ["all", ""],
];

type Payload = Record<string, unknown>;

const DEEDS: Record<string, (payload: Payload) => string> = {
  "run.opened": () => t.did.opened,
  "run.moved": (payload) => text(payload.reason) || t.did.moved,
  "run.linked": () => t.did.linked,
  "turn.recorded": (payload) => t.did.recorded(turn(payload)),
  "turn.completed": (payload) => t.did.completed(turn(payload)),
  "detection.raised": (payload) => t.did.raised(words(payload.detector), turn(payload)),
  "escalation.asked": () => t.did.escalate,
  "judge.asked": (payload) => (payload.judge === "local" ? t.did.askedLocal : t.did.asked(text(payload.judge))),
  "judge.ruled": (payload) => ruling(inside(payload.verdict)),
  "decision.opened": () => t.did.card,
  "decision.resolved": (payload) => t.did.closed(deed(text(payload.resolution))),
  "hold.abandoned": () => t.did.stoppedWaiting,
  "intervention.made": (payload) => deed(text(inside(payload.row).action)),
  "message.queued": (payload) => t.did.queued(text(payload.text)),
  "message.delivered": () => t.did.took,
  "autofix.applied": (payload) => t.did.injected(text(inside(payload.row).text)),
  "autofix.judged": (payload) => (payload.recovered === true ? t.did.wentOn : t.did.didNotGoOn),
  "cost.attributed": (payload) =>
    Number(payload.taken_back) > 0 ? t.did.stoppedCounting(text(payload.source)) : t.did.counted(text(payload.source)),
  "budget.crossed": (payload) => t.did.reached(text(payload.ceiling), text(payload.unit)),
  "session.terminated": () => t.did.ended,
  "allowlist.changed": (payload) => t.did.allowlist(text(payload.change), text(payload.pattern)),
  "policy.changed": change,
  "access.changed": (payload) => (text(payload.what) ? t.did.accessed(text(payload.what)) : t.did.access),
  "chain.anchored": () => t.did.anchored,
  "notice.sent": (payload) => t.did.notice(text(payload.channel)),
  "notice.failed": (payload) => t.did.noticeFailed(text(payload.channel)),
};

export function didWords(row: AuditRow): string {
  return DEEDS[row.type]?.(row.payload ?? {}) ?? row.type;
}

const THINGS = { channel: "channel", device: "device", "saved view": "view" } as const;
const THING = /^the (channel|device|saved view) “?(.*?)”?$/s;

/** What has a name was added, changed or removed; a setting is always changed. */
function change(payload: Payload): string {
  const [, kind, name = ""] = THING.exec(text(payload.what)) ?? [];
  if (kind !== "channel" && kind !== "device" && kind !== "saved view") return t.did.changed(words(payload.what));
  const say = payload.before === null ? t.did.added : payload.after === null ? t.did.removed : t.did.altered;
  return say(t.things[THINGS[kind]](name));
}

function ruling(verdict: Payload): string {
  const confidence = typeof verdict.confidence === "number" ? `, ${similarity(verdict.confidence)}` : "";
  return t.did.ruled(verdict.loop === true, confidence);
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

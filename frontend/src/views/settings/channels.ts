/** Channels as form values, and the order in which they are notified. Pure. */
import type { Language } from "../../messages/speech.svelte";
import type {
  ChannelHears,
  ChannelKind,
  ChannelPatch,
  ChannelRow,
  NewChannel,
} from "../../wire/types";

export const KINDS: readonly ChannelKind[] = [
  "slack",
  "discord",
  "telegram",
  "email",
  "ntfy",
  "webhook",
];
export const EVENTS: readonly ChannelHears[] = ["decisions", "budgets", "reports"];

export interface Draft {
  kind: ChannelKind;
  name: string;
  /** "" in a change: the address stays as it is. */
  address: string;
  /** Minutes, as typed. */
  step: string;
  hears: ChannelHears[];
  quietFrom: string;
  quietTo: string;
  language: Language;
}

/** A new channel gets the language of the person who adds it, most likely its readers' too. */
export function emptyDraft(language: Language = "en"): Draft {
  return {
    kind: "slack",
    name: "",
    address: "",
    step: "0",
    hears: ["decisions", "budgets"],
    quietFrom: "",
    quietTo: "",
    language,
  };
}

export function draftOf(row: ChannelRow): Draft {
  return {
    kind: row.kind,
    name: row.name,
    address: "",
    step: String(row.step_minutes),
    hears: [...row.hears],
    quietFrom: row.quiet_from ?? "",
    quietTo: row.quiet_to ?? "",
    language: row.language,
  };
}

export function newOf(draft: Draft, project: string): NewChannel {
  return {
    kind: draft.kind,
    name: draft.name.trim(),
    address: draft.address.trim(),
    project,
    enabled: true,
    step_minutes: Number(draft.step),
    quiet_from: draft.quietFrom || null,
    quiet_to: draft.quietTo || null,
    hears: draft.hears,
    language: draft.language,
  };
}

/** Return only what differs, so that other people's changes of the rest are kept. */
export function patchOf(row: ChannelRow, draft: Draft): Partial<ChannelPatch> {
  const was = draftOf(row);
  const patch: Partial<ChannelPatch> = {};
  if (draft.name.trim() !== was.name) patch.name = draft.name.trim();
  if (draft.address.trim() !== "") patch.address = draft.address.trim();
  if (draft.step !== was.step) patch.step_minutes = Number(draft.step);
  if (draft.language !== was.language) patch.language = draft.language;
  if (draft.hears.join() !== was.hears.join()) patch.hears = draft.hears;
  if (draft.quietFrom !== was.quietFrom || draft.quietTo !== was.quietTo) {
    patch.quiet_from = draft.quietFrom;
    patch.quiet_to = draft.quietTo;
  }
  return patch;
}

export function withEvent(draft: Draft, heard: ChannelHears, on: boolean): ChannelHears[] {
  return EVENTS.filter((one) => (one === heard ? on : draft.hears.includes(one)));
}

export interface Step {
  minutes: number;
  names: string[];
}

/** Return who is notified of a card and when: enabled channels for cards, by their minutes. */
export function stepsOf(rows: readonly ChannelRow[], own: string, holdSeconds: number): Step[] {
  const telling = rows.filter((row) => row.enabled && row.hears.includes("decisions"));
  const within = telling.filter((row) => row.step_minutes * 60 < holdSeconds);
  const steps: Step[] = [{ minutes: 0, names: [own] }];
  for (const row of [...within].sort((a, b) => a.step_minutes - b.step_minutes)) {
    const last = steps[steps.length - 1];
    if (last?.minutes === row.step_minutes) last.names.push(row.name);
    else steps.push({ minutes: row.step_minutes, names: [row.name] });
  }
  return steps;
}

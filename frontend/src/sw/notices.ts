/** The notification for a push, and what a tap on it sends. Pure. */
import type { Sendable } from "../sync/tapBody";
import { textsIn } from "./texts";

export interface Button {
  action: string;
  title: string;
  /** The text to inject, which the notification shows in full. */
  message?: string;
  /** The amount to add to a budget. */
  amount?: Record<string, string | number>;
  /** For an action that cannot be undone: the label of the button that confirms it. */
  sure?: string;
}

/** The data stored in a notification; it outlives the push. */
export interface NoticeSubject {
  type: "card" | "withdrawn" | "announcement";
  path: string;
  language: string;
  run: string | null;
  runName: string;
  decision: string | null;
  version: number | null;
  buttons: Button[];
}

export interface Notice {
  title: string;
  /** The number of open cards in all projects; null: the push does not say. */
  open: number | null;
  about: NoticeSubject;
  options: Options;
  /** Whether to remove all other notifications, because this device was signed out. */
  everything: boolean;
}

/** Options that browsers support but TypeScript's library lacks. */
export interface Options extends NotificationOptions {
  actions: { action: string; title: string }[];
  renotify: boolean;
  timestamp?: number;
}

const MAX_LENGTH = { title: 64, body: 300, path: 200 };

/** Read a push; an unreadable one still gives a general notification. */
export function readPush(data: unknown): Notice {
  const push = recordOf(data);
  const type = push.type === "card" || push.type === "withdrawn" ? push.type : "announcement";
  const tag = textOf(push.tag) || "mission-control";
  const buttons = type === "card" ? buttonsOf(push.actions) : [];
  const about: NoticeSubject = {
    type,
    buttons,
    language: textOf(push.language) || "en",
    path: pathOf(push.path),
    run: textOf(push.run) || null,
    runName: textOf(push.run_name),
    decision: type === "announcement" ? null : tag,
    version: typeof push.version === "number" ? push.version : null,
  };
  return {
    title: textOf(push.title).slice(0, MAX_LENGTH.title) || "Mission Control",
    open: typeof push.open === "number" ? push.open : null,
    everything: push.everything === true,
    about,
    options: {
      body: textOf(push.body).slice(0, MAX_LENGTH.body),
      tag,
      lang: about.language,
      icon: "/icons/icon-192.png",
      badge: "/icons/badge-96.png",
      data: about,
      actions: buttons.map(({ title }, at) => ({ action: String(at), title })),
      silent: type === "withdrawn",
      renotify: type === "card",
      requireInteraction: type === "card",
      ...(typeof push.at === "string" && { timestamp: Date.parse(push.at) }),
    },
  };
}

/** Return the tap that a button sends; null: it only opens the card. */
export function tapOf(about: NoticeSubject, action: string, key: string): Sendable | null {
  const button = action === "" ? undefined : about.buttons[Number(action)];
  if (!button || button.action === "open" || button.sure || about.run === null) return null;
  return {
    key,
    run: about.run,
    action: button.action,
    decision: about.decision,
    version: about.version,
    message: button.message,
    amount: button.amount,
  };
}

/** Return the confirmation to show for an action that cannot be undone; null: not needed. */
export function question(about: NoticeSubject, action: string): Notice | null {
  const button = action === "" ? undefined : about.buttons[Number(action)];
  if (!button?.sure) return null;
  const { sure, ...rest } = button;
  const t = textsIn(about.language);
  const actions = [
    { ...rest, title: sure },
    { action: "open", title: t.toCard },
  ];
  const { path, language, run, runName: run_name, decision, version } = about;
  const asking = {
    type: "card",
    tag: decision,
    title: t.sure(shortName(about)),
    body: t.forGood,
    path,
    language,
    run,
    run_name,
    version,
  };
  return readPush({ ...asking, actions });
}

function shortName({ runName: name }: NoticeSubject): string {
  return name.length > 40 ? `${name.slice(0, 39)}…` : name;
}

/** Return the notification for a tap that was refused. */
export function refusal(about: NoticeSubject, status: number, detail: string): Notice {
  const t = textsIn(about.language);
  const gone = status === 401 || status === 403;
  const why = gone ? t.signedOut : (status === 409 && t.stale) || detail || t.answered(status);
  return notice(about, gone ? t.signIn : t.notSent(about.runName), `${why} ${t.tapNotSent}`);
}

/** Return the notification for a tap that was kept because the server could not be reached. */
export function keeping(about: NoticeSubject): Notice {
  const t = textsIn(about.language);
  return notice(about, t.kept(about.runName), t.keptWhy);
}

function notice(about: NoticeSubject, title: string, body: string): Notice {
  const tag = about.decision ?? "mission-control";
  const shown = readPush({
    type: "withdrawn",
    tag,
    title,
    body,
    path: about.path,
    language: about.language,
  });
  return { ...shown, about: { ...shown.about, run: about.run, runName: about.runName } };
}

function buttonsOf(value: unknown): Button[] {
  if (!Array.isArray(value)) return [];
  const read = value.map(recordOf).map(({ action, title, message, amount, sure }) => ({
    action: textOf(action),
    title: textOf(title),
    ...(typeof message === "string" && { message }),
    ...(typeof sure === "string" && sure && { sure }),
    ...(isAmount(amount) && { amount }),
  }));
  return read.filter(({ action, title }) => action && title).slice(0, 2);
}

function isAmount(value: unknown): value is Record<string, string | number> {
  if (typeof value !== "object" || value === null || Array.isArray(value)) return false;
  return Object.values(value).every(
    (value) => typeof value === "string" || typeof value === "number",
  );
}

/** Return the path if it is one of our pages. */
function pathOf(value: unknown): string {
  const path = textOf(value).slice(0, MAX_LENGTH.path);
  return /^\/(?![/\\])[^\t\r\n]*$/.test(path) ? path : "/";
}

function recordOf(value: unknown): Record<string, unknown> {
  return typeof value === "object" && value !== null ? { ...value } : {};
}

function textOf(value: unknown): string {
  return typeof value === "string" ? value : "";
}

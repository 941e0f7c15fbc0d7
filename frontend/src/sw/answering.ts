/** Taps that the worker sends: from a notification's button, and kept ones. */
import { storage } from "../sync/storage";
import { bodyOf, isFresh, pathOfTap, TAP, type Sendable } from "../sync/tapBody";
import { keeping, refusal, type NoticeSubject, type Notice } from "./notices";

/** The key under which the page stores the CSRF token. */
export const CSRF = "csrf";
const SYNC = "taps";

/** Background sync, where a browser has it; elsewhere kept taps wait for the next visit. */
interface WithSync {
  sync?: { register: (tag: string) => Promise<void> };
}

/** Send a notification's tap; return what to show, or null if it was accepted. */
export async function sendAnswer(
  tap: Sendable,
  about: NoticeSubject,
  registration: ServiceWorkerRegistration & WithSync,
): Promise<Notice | null> {
  const answer = await post(pathOfTap(tap), bodyOf(tap));
  if (answer === null || answer.status >= 500) {
    await keep(tap, about);
    await registration.sync?.register(SYNC).catch(() => undefined);
    return keeping(about);
  }
  return answer.ok ? null : refusal(about, answer.status, await detailOf(answer));
}

/** The person who is signed in, or was at the last visit of the page. */
interface Person {
  user: { id: string };
}

/** Send the kept taps of the person signed in; the page reports those refused or too old. */
export async function sendKeptTaps(): Promise<void> {
  const kept = (await storage.all<Sendable & { madeAt: number }>(TAP)).filter((tap) =>
    isFresh(tap, Date.now()),
  );
  if (kept.length === 0 || !(await isOurs())) return;
  for (const tap of kept) {
    const answer = await post(pathOfTap(tap), bodyOf(tap));
    if (answer?.ok) await storage.remove(TAP + tap.key);
    if (answer === null) throw new Error("still offline"); // the browser tries again later
  }
}

/** Return whether the session belongs to the person who made the kept taps. */
async function isOurs(): Promise<boolean> {
  const answer = await fetch("/api/v1/me/", { credentials: "same-origin" });
  if (!answer.ok) return false;
  const here: Person = await answer.json();
  return here.user.id === (await storage.get<Person>("me"))?.user.id;
}

/** Send a POST request; null: the server could not be reached. */
export async function post(path: string, body: unknown): Promise<Response | null> {
  const headers = {
    "Content-Type": "application/json",
    "X-CSRFToken": (await storage.get<string>(CSRF)) ?? "",
  };
  const asked = {
    method: "POST",
    credentials: "same-origin",
    headers,
    body: JSON.stringify(body),
  } as const;
  return fetch(`/api/v1/${path}`, asked).catch(() => null);
}

/** Keep a tap in the same form as the page, so that the next visit continues with it. */
async function keep(tap: Sendable, { runName }: NoticeSubject): Promise<void> {
  const kept = {
    ...tap,
    runName,
    phase: "kept",
    leavesAt: null,
    tries: 1,
    madeAt: Date.now(),
    problem: null,
  };
  await storage.put(TAP + tap.key, kept);
}

async function detailOf(answer: Response): Promise<string> {
  try {
    const { detail }: { detail?: unknown } = await answer.json();
    return typeof detail === "string" ? detail : "";
  } catch {
    return "";
  }
}

/**
 * The service worker: the app's shell without a connection, and push notifications.
 *
 * It serves pages and built files from the installed build, so that a visit never mixes
 * two builds; data always comes from the server. A newer build waits until the page asks
 * for it.
 */
import { withNotificationLock } from "../push/notifications";
import { sendAnswer, sendKeptTaps } from "./answering";
import { question, readPush, tapOf, type NoticeSubject, type Notice } from "./notices";
import { answerTo, outdated, PREFIX } from "./shell";
import { renew } from "./subscribing";

declare const self: ServiceWorkerGlobalScope;
declare const __SHELL__: string[];
declare const __REVISION__: string;

const CACHE = PREFIX + __REVISION__;
const SHELL = new Set(__SHELL__);

self.addEventListener("install", (event) => event.waitUntil(fill()));

self.addEventListener("activate", (event) => event.waitUntil(takeOver()));

self.addEventListener("fetch", (event) => {
  const { method, mode, url } = event.request;
  const address = answerTo({ method, mode, url: new URL(url) }, self.location.origin, SHELL);
  if (address) event.respondWith(fromShell(address, event.request));
});

self.addEventListener("message", (event) => {
  if (event.data === "take over") void self.skipWaiting();
});

self.addEventListener("push", (event) => event.waitUntil(receivePush(event.data)));

self.addEventListener("notificationclick", (event) => {
  const about: NoticeSubject = event.notification.data;
  event.notification.close();
  event.waitUntil(answer(about, event.action));
});

/** The connection is back: send the kept taps, whether or not a page is open. */
self.addEventListener("sync", (event: Event) => {
  if (event instanceof ExtendableEvent) event.waitUntil(sendKeptTaps());
});

self.addEventListener("pushsubscriptionchange", (event) => {
  event.waitUntil(renew(self.registration, Reflect.get(event, "oldSubscription")));
});

/** Files with a hash in their name never change; fetch others past the HTTP cache. */
async function fill(): Promise<void> {
  const cache = await caches.open(CACHE);
  const asked = [...SHELL].map((address) =>
    address.startsWith("/assets/") ? address : new Request(address, { cache: "reload" }),
  );
  await cache.addAll(asked);
}

async function takeOver(): Promise<void> {
  const old = outdated(await caches.keys(), CACHE);
  await Promise.all(old.map((name) => caches.delete(name)));
  await self.clients.claim();
}

async function fromShell(address: string, request: Request): Promise<Response> {
  const cache = await caches.open(CACHE);
  return (await cache.match(address)) ?? fetch(request);
}

async function receivePush(data: PushMessageData | null): Promise<void> {
  const shown = readPush(parsed(data));
  if (shown.open !== null) await count(shown.open);
  if (shown.everything) await close(undefined);
  if (shown.about.type === "withdrawn" && (await isLookedAt())) return close(shown.options.tag);
  await show(shown);
}

/**
 * Browsers require that every push shows something. The notification of an answered card is
 * silently replaced by who answered; if the app itself is visible, it is removed.
 */
async function show({ title, options }: Notice): Promise<void> {
  await withNotificationLock(() => self.registration.showNotification(title, options));
}

async function close(tag: string | undefined): Promise<void> {
  const mine = await withNotificationLock(() =>
    self.registration.getNotifications(tag ? { tag } : {}),
  );
  for (const notification of mine) notification.close();
}

async function answer(about: NoticeSubject, action: string): Promise<void> {
  const asked = question(about, action);
  if (asked) return show(asked);
  const tap = tapOf(about, action, crypto.randomUUID());
  if (!tap) return open(about.path);
  const notice = await sendAnswer(tap, about, self.registration);
  if (notice) await show(notice);
}

/** Bring a window of ours to the front and show the page there, or else open a window. */
async function open(path: string): Promise<void> {
  const windows = await self.clients.matchAll({ type: "window", includeUncontrolled: true });
  const ours = windows.find(({ focused }) => focused) ?? windows[0];
  if (!ours) return void (await self.clients.openWindow(path));
  await ours.focus().catch(() => undefined); // refused if no person clicked
  ours.postMessage({ type: "open", path });
}

async function isLookedAt(): Promise<boolean> {
  const windows = await self.clients.matchAll({ type: "window", includeUncontrolled: true });
  return windows.some(({ visibilityState }) => visibilityState === "visible");
}

/** Set the number on the app's icon, where the platform supports one. */
async function count(cards: number): Promise<void> {
  const { navigator } = self;
  if ("setAppBadge" in navigator) await navigator.setAppBadge(cards).catch(() => undefined);
}

function parsed(data: PushMessageData | null): unknown {
  try {
    return data?.json();
  } catch {
    return null;
  }
}

/**
 * Whether this browser takes pushes, and the switch for it.
 *
 * Pushes need a secure origin, a worker, and the person's leave. On an iPhone they
 * need the app on the home screen too: there is no PushManager before.
 */
import { speech } from "../messages/speech.svelte";
import { read, write } from "../wire/api";
import type { DeviceRow, Page } from "../wire/types";
import { installation } from "./register.svelte";

export type PushState =
  | "insecure" // plain HTTP: no browser offers it
  | "home-screen" // an iPhone that has not added the app yet
  | "unsupported"
  | "no-worker" // its certificate is not trusted yet, or the window is private
  | "denied" // the person said no; only the browser's settings take that back
  | "off"
  | "on";

export function pushState(subscribed: boolean): PushState {
  if (!isSecureContext) return "insecure";
  if (!("PushManager" in window)) return isApple() ? "home-screen" : "unsupported";
  if (installation.isRefused) return "no-worker";
  if (Notification.permission === "denied") return "denied";
  return subscribed && Notification.permission === "granted" ? "on" : "off";
}

/** Ask the person, subscribe with this installation's key, and tell the server. */
export async function takePushes(key: string): Promise<boolean> {
  if ((await Notification.requestPermission()) !== "granted") return false;
  const registration = await navigator.serviceWorker.ready;
  const made = await subscribed(registration.pushManager, key);
  const { endpoint, keys } = made.toJSON();
  const time_zone = Intl.DateTimeFormat().resolvedOptions().timeZone;
  const name = await ownName();
  const body = {
    endpoint,
    keys,
    time_zone,
    vapid_key: key,
    language: speech.language,
    ...(name && { name }),
  };
  await write<DeviceRow>("POST", "devices/this/push/", body);
  return true;
}

/** What is pushed here speaks as this page does; without pushes there is nothing to tell. */
export async function tellPushLanguage(language: string): Promise<void> {
  const here = (await read<Page<DeviceRow>>("devices/")).results.find(({ is_this }) => is_this);
  if (here?.push && here.push.language !== language)
    await write("PATCH", `devices/${here.id}/`, { language });
}

export async function takeNoPushes(): Promise<void> {
  const registration = await navigator.serviceWorker.getRegistration();
  const made = await registration?.pushManager.getSubscription();
  await made?.unsubscribe();
  await write("DELETE", "devices/this/push/", {});
}

/** A subscription made with another key has to go before a new one. */
async function subscribed(manager: PushManager, key: string): Promise<PushSubscription> {
  const asked = { userVisibleOnly: true, applicationServerKey: key };
  try {
    return await manager.subscribe(asked);
  } catch (error) {
    const old = await manager.getSubscription();
    if (!old) throw error;
    await old.unsubscribe();
    return manager.subscribe(asked);
  }
}

/** "Pixel 9", where the browser tells; its User-Agent no longer does. */
async function ownName(): Promise<string> {
  const hints: unknown = Reflect.get(navigator, "userAgentData");
  if (!canTell(hints)) return "";
  const { model } = await hints.getHighEntropyValues(["model"]).catch(() => ({ model: "" }));
  return model ?? "";
}

interface Hints {
  getHighEntropyValues: (names: string[]) => Promise<{ model?: string }>;
}

function canTell(hints: unknown): hints is Hints {
  return typeof hints === "object" && hints !== null && "getHighEntropyValues" in hints;
}

function isApple(): boolean {
  return /iPhone|iPad/.test(navigator.userAgent);
}

/**
 * Whether this browser receives pushes, and the switch for it.
 *
 * Pushes need a secure origin, a worker, and the person's permission. On an iPhone
 * the app must also be on the home screen: before that, there is no PushManager.
 */
import { speech } from "../messages/speech.svelte";
import { read, write } from "../wire/api";
import type { DeviceRow, Page } from "../wire/types";
import { serviceWorker } from "./serviceWorker.svelte";

export type PushState =
  | "insecure" // plain HTTP: no browser offers it
  | "home-screen" // an iPhone without the app on its home screen
  | "unsupported"
  | "no-worker" // the certificate is not trusted yet, or the window is private
  | "denied" // the person refused; only the browser's settings can change that
  | "off"
  | "on";

export function pushState(isSubscribed: boolean): PushState {
  if (!isSecureContext) return "insecure";
  if (!("PushManager" in window)) return isApple() ? "home-screen" : "unsupported";
  if (serviceWorker.isRefused) return "no-worker";
  if (Notification.permission === "denied") return "denied";
  return isSubscribed && Notification.permission === "granted" ? "on" : "off";
}

/** Ask the person, subscribe with this installation's key, and tell the server. */
export async function subscribeToPushes(key: string): Promise<boolean> {
  if ((await Notification.requestPermission()) !== "granted") return false;
  const registration = await navigator.serviceWorker.ready;
  const made = await subscribeWith(registration.pushManager, key);
  const { endpoint, keys } = made.toJSON();
  const time_zone = Intl.DateTimeFormat().resolvedOptions().timeZone;
  const name = await deviceModel();
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

/** Tell the server the language for pushes to this browser, if it receives any. */
export async function savePushLanguage(language: string): Promise<void> {
  const here = (await read<Page<DeviceRow>>("devices/")).results.find(({ is_this }) => is_this);
  if (here?.push && here.push.language !== language)
    await write("PATCH", `devices/${here.id}/`, { language });
}

export async function unsubscribeFromPushes(): Promise<void> {
  const registration = await navigator.serviceWorker.getRegistration();
  const made = await registration?.pushManager.getSubscription();
  await made?.unsubscribe();
  await write("DELETE", "devices/this/push/", {});
}

/** Return a subscription with this key; one with another key is removed first. */
async function subscribeWith(manager: PushManager, key: string): Promise<PushSubscription> {
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

/** Return the model, such as "Pixel 9", if the browser reports it; User-Agents no longer do. */
async function deviceModel(): Promise<string> {
  const hints: unknown = Reflect.get(navigator, "userAgentData");
  if (!hasHints(hints)) return "";
  const { model } = await hints.getHighEntropyValues(["model"]).catch(() => ({ model: "" }));
  return model ?? "";
}

interface Hints {
  getHighEntropyValues: (names: string[]) => Promise<{ model?: string }>;
}

function hasHints(hints: unknown): hints is Hints {
  return typeof hints === "object" && hints !== null && "getHighEntropyValues" in hints;
}

function isApple(): boolean {
  return /iPhone|iPad/.test(navigator.userAgent);
}

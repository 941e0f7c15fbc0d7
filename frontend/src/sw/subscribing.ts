/** If the push service replaces a subscription, subscribe again and tell the server. */
import { post } from "./answering";

export async function renew(registration: ServiceWorkerRegistration, old: unknown): Promise<void> {
  const key = old instanceof PushSubscription ? old.options.applicationServerKey : null;
  if (!key) return; // the next visit subscribes again
  const made = await registration.pushManager.subscribe({
    userVisibleOnly: true,
    applicationServerKey: key,
  });
  const time_zone = Intl.DateTimeFormat().resolvedOptions().timeZone;
  await post("devices/this/push/", { ...subscriptionOf(made), vapid_key: textOf(key), time_zone });
}

export function subscriptionOf(made: PushSubscription): {
  endpoint: string;
  keys: Record<string, string>;
} {
  const { endpoint, keys } = made.toJSON();
  return { endpoint: endpoint ?? "", keys: { p256dh: keys?.p256dh ?? "", auth: keys?.auth ?? "" } };
}

/** Return base64url without padding, as VAPID keys are written. */
export function textOf(key: ArrayBuffer): string {
  const text = btoa(String.fromCharCode(...new Uint8Array(key)));
  return text.replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");
}

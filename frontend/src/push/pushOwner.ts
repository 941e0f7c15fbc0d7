/**
 * Clean up when another person uses the browser: pushes to one are not for the next.
 *
 * The server deletes a browser's subscription when somebody else signs in there. This is
 * the browser's part; it also works if the server cannot recognise the browser.
 */
import { shownNotifications, workerRegistration } from "./notifications";

const PUSHED_TO = "missioncontrol.pushed-to";

/** Note who is signed in; remove another person's notifications and subscription. */
export async function claimPushes(user: string): Promise<void> {
  const before = stored();
  store(user);
  if (before !== null && before !== user) await stopPushes();
}

/** Unsubscribe from pushes, and remove all shown notifications. */
export async function stopPushes(): Promise<void> {
  await clearNotifications();
  const made = await (await workerRegistration())?.pushManager?.getSubscription();
  await made?.unsubscribe().catch(() => false); // the server has already deleted it
}

/** Remove all notifications, and the number on the icon. */
export async function clearNotifications(): Promise<void> {
  for (const notification of await shownNotifications()) notification.close();
  if ("clearAppBadge" in navigator) await navigator.clearAppBadge().catch(() => undefined);
}

function stored(): string | null {
  try {
    return localStorage.getItem(PUSHED_TO);
  } catch {
    return null; // storage may be off in private windows
  }
}

function store(user: string): void {
  try {
    localStorage.setItem(PUSHED_TO, user);
  } catch {
    // the server's part still works
  }
}

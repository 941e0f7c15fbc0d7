/**
 * A browser that changes hands: what was pushed to one person is not for the next.
 *
 * The server forgets a browser's pushes when somebody else signs in there; this is the
 * browser's half, and holds where the server cannot tell that it is the same browser.
 */
import { notifications, registration } from "./shown";

const PUSHED_TO = "missioncontrol.pushed-to";

/** Note who is here; whatever another person left on the lock screen goes, and their subscription. */
export async function handOver(user: string): Promise<void> {
  const before = stored();
  store(user);
  if (before !== null && before !== user) await hush();
}

/** Nothing is pushed here any more, and nothing that was stays in sight. */
export async function hush(): Promise<void> {
  await clearScreen();
  const made = await (await registration())?.pushManager?.getSubscription();
  await made?.unsubscribe().catch(() => false); // the server has forgotten it already
}

/** Take every notification away, and the number on the icon. */
export async function clearScreen(): Promise<void> {
  for (const notification of await notifications()) notification.close();
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
    // the server's half holds
  }
}

/** Keep the app's icon and notifications up to date while the page knows the open cards. */
import { shownNotifications } from "./notifications";

/** Show the number of open cards on the icon, and remove notifications of answered ones. */
export async function syncNotifications(
  open: number,
  wasAnswered: (decision: string, openedAt: number) => boolean,
): Promise<void> {
  await setIconBadge(open);
  await closeAnswered(wasAnswered);
}

async function setIconBadge(cards: number): Promise<void> {
  if (!("setAppBadge" in navigator)) return;
  const done = cards > 0 ? navigator.setAppBadge(cards) : navigator.clearAppBadge();
  await done.catch(() => undefined); // only an installed app has an icon
}

async function closeAnswered(
  wasAnswered: (decision: string, openedAt: number) => boolean,
): Promise<void> {
  for (const notification of await shownNotifications()) {
    const decision: unknown = notification.data?.decision;
    const at: unknown = Reflect.get(notification, "timestamp");
    const openedAt = typeof at === "number" ? at : Date.now();
    if (typeof decision === "string" && wasAnswered(decision, openedAt)) notification.close();
  }
}

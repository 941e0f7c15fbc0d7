/** Keep the app's icon and notifications up to date while the page knows the open cards. */
import { notifications } from "./shown";

/** Show the number of open cards on the icon, and remove notifications of answered ones. */
export async function tidy(
  open: number,
  wasAnswered: (decision: string, openedAt: number) => boolean,
): Promise<void> {
  await countOnIcon(open);
  await takeAway(wasAnswered);
}

async function countOnIcon(cards: number): Promise<void> {
  if (!("setAppBadge" in navigator)) return;
  const done = cards > 0 ? navigator.setAppBadge(cards) : navigator.clearAppBadge();
  await done.catch(() => undefined); // only an installed app has an icon
}

async function takeAway(
  wasAnswered: (decision: string, openedAt: number) => boolean,
): Promise<void> {
  for (const notification of await notifications()) {
    const decision: unknown = notification.data?.decision;
    const at: unknown = Reflect.get(notification, "timestamp");
    const openedAt = typeof at === "number" ? at : Date.now();
    if (typeof decision === "string" && wasAnswered(decision, openedAt)) notification.close();
  }
}

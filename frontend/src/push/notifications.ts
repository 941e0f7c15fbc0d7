/**
 * A lock with which page and worker take turns at listing and showing notifications.
 *
 * To list them, Chromium reads first the screen and then its records, and forgets what is not in
 * both: a notification shown in between stays on the screen, but ignores taps and cannot be
 * removed.
 */
const TURN = "notifications";
/** The holder of the lock may have been suspended, but a push must show something anyway. */
const PATIENCE_MS = 2_000;

export async function withNotificationLock<T>(action: () => Promise<T>): Promise<T> {
  let done: Promise<T> | undefined;
  try {
    return await navigator.locks.request(
      TURN,
      { signal: AbortSignal.timeout(PATIENCE_MS) },
      () => (done = action()),
    );
  } catch {
    return done ?? action(); // the action's own error, no locks, or too long a wait
  }
}

/** Return our notifications that are shown. */
export async function shownNotifications(): Promise<Notification[]> {
  const here = await workerRegistration();
  return here ? withNotificationLock(() => here.getNotifications()) : [];
}

export async function workerRegistration(): Promise<WithPushes | undefined> {
  return "serviceWorker" in navigator
    ? navigator.serviceWorker.getRegistration().catch(() => undefined)
    : undefined;
}

/** On an iPhone there is no PushManager until the app is on the home screen. */
interface WithPushes {
  pushManager?: PushManager;
  getNotifications: () => Promise<Notification[]>;
}

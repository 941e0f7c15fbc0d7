/**
 * Page and worker take turns at the notifications that are shown.
 *
 * Chromium looks at the screen first and then at its records, and drops what it does not find on
 * both: a notification that comes in between stays on the screen, but no tap on it is heard any
 * more and nothing takes it away.
 */
const TURN = "notifications";
/** Who holds the turn may have been put to sleep: a push has to show something all the same. */
const PATIENCE_MS = 2_000;

export async function inTurn<T>(action: () => Promise<T>): Promise<T> {
  let done: Promise<T> | undefined;
  try {
    return await navigator.locks.request(
      TURN,
      { signal: AbortSignal.timeout(PATIENCE_MS) },
      () => (done = action()),
    );
  } catch {
    return done ?? action(); // what went wrong in its turn is its own; else there are no locks, or no end of waiting
  }
}

/** What of ours is shown. */
export async function notifications(): Promise<Notification[]> {
  const here = await registration();
  return here ? inTurn(() => here.getNotifications()) : [];
}

export async function registration(): Promise<WithPushes | undefined> {
  return "serviceWorker" in navigator
    ? navigator.serviceWorker.getRegistration().catch(() => undefined)
    : undefined;
}

/** An iPhone that has not added the app has no PushManager. */
interface WithPushes {
  pushManager?: PushManager;
  getNotifications: () => Promise<Notification[]>;
}

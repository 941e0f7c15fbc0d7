import { beforeEach, describe, expect, it, vi } from "vitest";
import { clearNotifications, claimPushes, stopPushes } from "./pushOwner";

/** A browser with two notifications in sight and a subscription. */
function aBrowser() {
  const kept = new Map<string, string>();
  const left = { shown: ["a", "b"], subscribed: true };
  const registration = {
    getNotifications: () =>
      Promise.resolve(
        left.shown.map((tag) => ({
          close: () => (left.shown = left.shown.filter((one) => one !== tag)),
        })),
      ),
    pushManager: {
      getSubscription: () =>
        Promise.resolve(
          left.subscribed
            ? { unsubscribe: () => Promise.resolve(!(left.subscribed = false)) }
            : null,
        ),
    },
  };
  vi.stubGlobal("localStorage", {
    getItem: (key: string) => kept.get(key) ?? null,
    setItem: (key: string, value: string) => kept.set(key, value),
  });
  vi.stubGlobal("navigator", {
    serviceWorker: { getRegistration: () => Promise.resolve(registration) },
  });
  return left;
}

let left: ReturnType<typeof aBrowser>;
beforeEach(() => {
  left = aBrowser();
});

describe("a browser that changes hands", () => {
  it("keeps the pushes of who comes again", async () => {
    await claimPushes("ana");
    await claimPushes("ana");

    expect(left).toEqual({ shown: ["a", "b"], subscribed: true });
  });

  it("shows the next person nothing of the one before, and takes no more of theirs", async () => {
    await claimPushes("ana");
    await claimPushes("bo");

    expect(left).toEqual({ shown: [], subscribed: false });
  });

  it("is quiet after somebody signed out", async () => {
    await stopPushes();

    expect(left).toEqual({ shown: [], subscribed: false });
  });

  it("goes on taking pushes where a session ended by itself, with an empty screen", async () => {
    await clearNotifications();

    expect(left).toEqual({ shown: [], subscribed: true });
  });

  it("does nothing where browsers offer no worker", async () => {
    vi.stubGlobal("navigator", {});

    await expect(stopPushes()).resolves.toBeUndefined();
  });
});

import { afterEach, describe, expect, it, vi } from "vitest";
import { withNotificationLock } from "./notifications";

/** Locks as a browser has them, one after the other; `held` keeps the turn until it is let go. */
function locksBehind(held: Promise<void>) {
  const request = async (
    _name: string,
    { signal }: { signal: AbortSignal },
    action: () => Promise<unknown>,
  ) => {
    const givenUp = new Promise<never>((_, refuse) => {
      signal.addEventListener("abort", () => refuse(new Error("timed out")), { once: true });
    });
    await Promise.race([held, givenUp]);
    return action();
  };
  vi.stubGlobal("navigator", { locks: { request } });
}

afterEach(() => vi.unstubAllGlobals());

describe("who looks at the notifications, or shows one", () => {
  it("waits until it has the turn", async () => {
    let letGo = (): void => undefined;
    locksBehind(new Promise((done) => (letGo = done)));
    const done: string[] = [];

    const shown = withNotificationLock(() => Promise.resolve(done.push("shown")));
    done.push("looked");
    letGo();
    await shown;

    expect(done).toEqual(["looked", "shown"]);
  });

  it("waits for nobody who sleeps", async () => {
    vi.stubGlobal("navigator", {
      locks: { request: () => Promise.reject(new Error("timed out")) },
    });

    expect(await withNotificationLock(() => Promise.resolve("shown"))).toBe("shown");
  });

  it("says what went wrong, and does it once", async () => {
    locksBehind(Promise.resolve());
    const action = vi.fn(() => Promise.reject(new Error("not allowed")));

    await expect(withNotificationLock(action)).rejects.toThrow("not allowed");
    expect(action).toHaveBeenCalledTimes(1);
  });

  it("needs no locks", async () => {
    vi.stubGlobal("navigator", {});

    expect(await withNotificationLock(() => Promise.resolve("shown"))).toBe("shown");
  });
});

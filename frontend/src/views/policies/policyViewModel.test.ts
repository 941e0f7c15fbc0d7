import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { PolicyViewModel } from "./policyViewModel.svelte";

let answers: Map<string, (body: object) => void>;
let begun: number;

/** A server whose replays are numbered in the order they are asked for; it answers reads when the test says. */
function answer(url: string, init?: RequestInit): Promise<Response> {
  if (init?.method === "POST")
    return Promise.resolve(Response.json({ id: `replay-${String(++begun)}`, status: "running" }));
  return new Promise((resolve) => {
    answers.set(url, (body) => resolve(Response.json(body)));
  });
}

beforeEach(() => {
  vi.useFakeTimers();
  [answers, begun] = [new Map(), 0];
  vi.stubGlobal("fetch", answer);
  vi.stubGlobal("document", { querySelectorAll: () => [], cookie: "" });
  vi.stubGlobal("location", { protocol: "https:" });
});
afterEach(() => {
  vi.useRealTimers();
  vi.unstubAllGlobals();
});

test("a replay of an older draft does not answer for a newer one, however late it comes", async () => {
  const vm = new PolicyViewModel("p", true);
  void vm.try(30);
  await vi.advanceTimersByTimeAsync(1_000);
  const late = answers.get("/api/v1/backtest/replay-1/");
  void vm.try(30);
  await vi.advanceTimersByTimeAsync(1);

  late?.({ id: "replay-1", status: "done" });
  await vi.advanceTimersByTimeAsync(1_000);
  expect(vm.backtest).toMatchObject({ id: "replay-2", status: "running" });

  answers.get("/api/v1/backtest/replay-2/")?.({ id: "replay-2", status: "done" });
  await vi.advanceTimersByTimeAsync(1);
  expect(vm.backtest).toMatchObject({ id: "replay-2", status: "done" });
});

test("who is second and cannot see what was saved is told that somebody was first", async () => {
  const stale = { code: "stale_policy", detail: "It moved on.", status: 409 };
  vi.stubGlobal("fetch", (_: string, init?: RequestInit) =>
    init?.method === "PATCH"
      ? Promise.resolve(Response.json(stale, { status: 409 }))
      : Promise.reject(new TypeError("offline")),
  );
  const vm = new PolicyViewModel("p", false);

  await vm.save("why").catch(() => undefined);

  expect(vm.failure).toBe("It moved on.");
});

test("a replay that is asked for again takes away why the last one was not started", async () => {
  const vm = new PolicyViewModel("p", true);
  vi.stubGlobal("fetch", () => Promise.reject(new TypeError("offline")));
  await vm.tryAgain();
  expect(vm.failure).not.toBeNull();

  vi.stubGlobal("fetch", answer);
  void vm.tryAgain();
  await vi.advanceTimersByTimeAsync(1);

  expect(vm.failure).toBeNull();
});

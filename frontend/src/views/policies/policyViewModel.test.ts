import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { policies } from "../../messages/texts";
import { PolicyViewModel } from "./policyViewModel.svelte";

let answers: Map<string, (body: object) => void>;
let begun: number;

/** What a browser's tab keeps, in a map. */
function aTab(): Pick<Storage, "getItem" | "setItem" | "removeItem"> {
  const kept = new Map<string, string>();
  return {
    getItem: (name) => kept.get(name) ?? null,
    setItem: (name, value) => void kept.set(name, value),
    removeItem: (name) => void kept.delete(name),
  };
}

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
  vi.stubGlobal("sessionStorage", aTab());
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

  await vm.save().catch(() => undefined);

  expect(vm.message).toBe("It moved on.");
});

test("a replay that is asked for again takes away why the last one was not started", async () => {
  const vm = new PolicyViewModel("p", true);
  vi.stubGlobal("fetch", () => Promise.reject(new TypeError("offline")));
  await vm.tryAgain();
  expect(vm.message).not.toBeNull();

  vi.stubGlobal("fetch", answer);
  void vm.tryAgain();
  await vi.advanceTimersByTimeAsync(1);

  expect(vm.message).toBeNull();
});

/** A server with one policy in force, which takes every draft for good. */
function serving(policy: object, number = 1, text?: string): void {
  vi.stubGlobal("fetch", (url: string, init?: RequestInit) => {
    const sent: unknown = typeof init?.body === "string" ? JSON.parse(init.body) : {};
    const answers: Partial<Record<string, object>> = {
      "/api/v1/projects/p/": { policy, mode: "pause", policy_version: number },
      "/api/v1/projects/p/policies/": { results: text ? [{ number, text }] : [] },
      "/api/v1/projects/p/policies/check/": { ok: true, problems: [], rules: [], ...Object(sent) },
    };
    return Promise.resolve(Response.json(answers[url] ?? { runs: [] }));
  });
}

async function opened(person: string): Promise<PolicyViewModel> {
  const vm = new PolicyViewModel("p", false, person);
  await vm.load();
  return vm;
}

test("a draft is there again after a look elsewhere, on top of what was saved meanwhile", async () => {
  serving({ repeat: { calls: 3 } });
  const before = await opened("ana");
  before.edit({ repeat: { calls: 9 } });
  [before.mode, before.note] = ["warn", "slow suite"];
  before.keep();

  serving({ repeat: { calls: 3 }, sensitivity: 0.7 }, 2);
  const after = await opened("ana");

  expect(after.draft).toEqual({ repeat: { calls: 9 }, sensitivity: 0.7 });
  expect([after.changed, after.modeChanged, after.mode, after.note]).toEqual([
    true,
    true,
    "warn",
    "slow suite",
  ]);
  expect(after.message).toBe(`${policies.savedMeanwhile} ${policies.onTop}`);
});

test("a draft in writing takes back nothing unsaid of what was saved meanwhile", async () => {
  serving({}, 1, "calls = 3");
  const [typed, looked] = [await opened("dan"), await opened("eve")];
  typed.edit("calls = 9");
  typed.keep();
  looked.mode = "warn";
  looked.keep();

  serving({}, 2, "calls = 5");
  const [again, back] = [await opened("dan"), await opened("eve")];

  expect(again.draft).toBe("calls = 9");
  expect(again.message).toBe(`${policies.savedMeanwhile} ${policies.takesTheirsBack}`);
  expect([back.draft, back.changed, back.mode]).toEqual(["calls = 5", false, "warn"]);
});

test("a draft is for whoever made it, and gone once it was thrown away", async () => {
  serving({ repeat: { calls: 3 } });
  const mine = await opened("bea");
  mine.edit({ repeat: { calls: 9 } });
  mine.keep();

  expect((await opened("cem")).changed).toBe(false);
  const again = await opened("bea");
  expect(again.changed).toBe(true);
  again.throwAway();
  again.keep();
  expect((await opened("bea")).changed).toBe(false);
});

test("a draft that is brought back says so until it is written on", async () => {
  serving({ repeat: { calls: 3 } });
  const before = await opened("fay");
  before.edit({ repeat: { calls: 9 } });
  before.keep();

  const after = await opened("fay");

  expect(after.message).toBe(policies.restored);
  after.edit({ repeat: { calls: 8 } });
  expect(after.message).toBeNull();
});

test("a draft that was saved is not brought back", async () => {
  serving({ repeat: { calls: 3 } });
  const vm = await opened("gil");
  vm.edit({ repeat: { calls: 9 } });
  vm.keep();

  await vm.save();

  expect((await opened("gil")).message).toBeNull();
});

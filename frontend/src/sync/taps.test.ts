import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { ProblemError, UnreachableError } from "../wire/api";
import type { InterventionRow } from "../wire/types";
import { bodyOf } from "./tapBody";
import { KEPT_FOR_MS } from "./tapBody";
import { COUNT_MS, DOUBLE_TAP_MS, TapQueue, type Tap, type TapRequest } from "./taps.svelte";

const request = (change: Partial<TapRequest> = {}): TapRequest => ({
  run: "run-1",
  runName: "fix-auth-tests",
  action: "continue",
  decision: "d1",
  version: 3,
  ...change,
});
const row = (version = 4): InterventionRow => ({
  id: "i",
  project: "p",
  run: "run-1",
  decision: "d1",
  key: "k",
  action: "continue",
  status: "asked",
  by: "Ana",
  message: null,
  version,
  at: "",
  delivered_at: null,
  acknowledged_at: null,
  new_run: null,
});

/** A server that answers each post in turn; the last answer stands. */
function queueAnswering(...answers: (InterventionRow | Error | Promise<never>)[]) {
  const posts: { tap: Tap; keepalive: boolean }[] = [];
  const stale: Tap[] = [];
  const storage = new Map<string, Tap>();
  let keys = 0;
  const queue = new TapQueue({
    post: async (tap, keepalive) => {
      posts.push({ tap, keepalive });
      const answer = answers.length > 1 ? answers.shift() : answers[0];
      if (answer instanceof Error || !answer) throw answer ?? new Error("no answer");
      return await Promise.resolve(answer);
    },
    newKey: () => `key-${String(++keys)}`,
    now: () => Date.now(),
    onStale: (tap) => stale.push(tap),
    keep: (tap) => storage.set(tap.key, tap),
    drop: (key) => storage.delete(key),
  });
  return { queue, posts, stale, storage };
}
const soon = () => vi.advanceTimersByTimeAsync(0);
const phases = (queue: TapQueue) => queue.all.map(({ phase }) => phase);

beforeEach(() => vi.useFakeTimers());
afterEach(() => vi.useRealTimers());

it("keeps and sends with an answer that it is for the whole run", async () => {
  const { queue, posts, storage } = queueAnswering(new UnreachableError("offline"), row());

  const { key } = queue.tap(request({ action: "allow_once", forRun: true }));
  await soon();
  expect(storage.get(key)).toMatchObject({ forRun: true });
  queue.retryKept();

  expect(posts.map(({ tap }) => bodyOf(tap).for_run)).toEqual([true, true]);
  expect(bodyOf(queue.tap(request())).for_run).toBeUndefined();
});

it("sends a message to one agent under that agent's name", () => {
  const tap = { ...request({ action: "inject", decision: null, message: "Go on." }), key: "k" };

  expect(bodyOf({ ...tap, agent: "api" })).toMatchObject({ message: "Go on.", agent: "api" });
  expect(bodyOf(tap).agent).toBeUndefined();
});

describe("a tap", () => {
  it("goes at once and is asked until the event comes", async () => {
    const { queue, posts } = queueAnswering(row());

    queue.tap(request());
    expect(phases(queue)).toEqual(["sending"]);
    await soon();

    expect([phases(queue), posts.length, posts[0]?.tap.version]).toEqual([["asked"], 1, 3]);
    expect(queue.of("d1")?.action).toBe("continue");
    expect(queue.ofRun("run-1", "inject")).toBeNull();
  });

  it("on a card that moved on is told, and not sent again", async () => {
    const problem = new ProblemError(409, { code: "stale_run", detail: "Ana continued it." });
    const { queue, posts, stale } = queueAnswering(problem);

    queue.tap(request());
    await vi.advanceTimersByTimeAsync(60_000);

    expect([phases(queue), posts.length, stale.length]).toEqual([["stale"], 1, 1]);
    expect(queue.of("d1")?.problem?.message).toBe("Ana continued it.");
  });

  it("that the server refuses is not sent again", async () => {
    const { queue, posts } = queueAnswering(new ProblemError(422, {}));

    queue.tap(request());
    await vi.advanceTimersByTimeAsync(60_000);

    expect([phases(queue), posts.length]).toEqual([["failed"], 1]);
  });

  it("fails plainly when our own code does", async () => {
    const { queue } = queueAnswering(new Error("a bug"));

    queue.tap(request());
    await soon();

    expect(phases(queue)).toEqual(["failed"]);
  });

  it("that cannot be sent is kept and sent again with the same key", async () => {
    const { queue, posts } = queueAnswering(
      new UnreachableError(),
      new ProblemError(503, {}),
      row(),
    );

    queue.tap(request());
    await soon();
    expect(phases(queue)).toEqual(["kept"]);
    queue.retryKept();
    await soon();
    await vi.advanceTimersByTimeAsync(2_000);

    expect([phases(queue), new Set(posts.map(({ tap }) => tap.key)).size]).toEqual([["asked"], 1]);
    expect(posts).toHaveLength(3);
  });

  it("may be dismissed while its answer is on the way", async () => {
    const { queue } = queueAnswering(new UnreachableError());

    const tap = queue.tap(request());
    queue.dismiss(tap.key);
    await vi.advanceTimersByTimeAsync(10_000);

    expect(queue.all).toEqual([]);
  });

  it("is forgotten after a while", async () => {
    const { queue } = queueAnswering(row());

    queue.tap(request());
    await vi.advanceTimersByTimeAsync(61_000);
    queue.tap(request({ decision: "d2" }));

    expect(queue.all.map(({ decision }) => decision)).toEqual(["d2"]);
  });
});

describe("terminate", () => {
  const terminate = request({ action: "terminate" });

  it("leaves after five seconds", async () => {
    const { queue, posts } = queueAnswering(row());

    queue.tap(terminate);
    await vi.advanceTimersByTimeAsync(COUNT_MS - 1);
    expect(posts).toEqual([]);
    await vi.advanceTimersByTimeAsync(1);

    expect([posts.length, phases(queue)]).toEqual([1, ["asked"]]);
  });

  it("never leaves when it is undone", async () => {
    const { queue, posts } = queueAnswering(row());

    queue.undo(queue.tap(terminate).key);
    await vi.advanceTimersByTimeAsync(60_000);

    expect([posts.length, queue.all.length]).toEqual([0, 0]);
  });

  it("leaves now on a second tap, and only once", async () => {
    const { queue, posts } = queueAnswering(row());

    queue.tap(terminate);
    await vi.advanceTimersByTimeAsync(DOUBLE_TAP_MS);
    queue.tap(terminate);
    expect(posts).toHaveLength(1);
    await vi.advanceTimersByTimeAsync(60_000);

    expect(posts).toHaveLength(1);
  });

  it("goes on counting when the same finger tapped twice", async () => {
    const { queue, posts } = queueAnswering(row());

    queue.tap(terminate);
    await vi.advanceTimersByTimeAsync(DOUBLE_TAP_MS - 1);
    queue.tap(terminate);

    expect([posts, phases(queue)]).toEqual([[], ["counting"]]);
  });

  it("leaves at once when the page is hidden", async () => {
    const { queue, posts } = queueAnswering(row());

    queue.tap(terminate);
    queue.flushCounting();
    await soon();

    expect(posts.map(({ keepalive }) => keepalive)).toEqual([true]);
  });

  it("goes along with our own hold, which moved the version", async () => {
    const { queue, posts } = queueAnswering(row(4));

    queue.tap(terminate);
    queue.tap(request({ action: "pause", version: null }));
    await vi.advanceTimersByTimeAsync(COUNT_MS);

    expect(posts.map(({ tap }) => [tap.action, tap.version])).toEqual([
      ["pause", null],
      ["terminate", 4],
    ]);
  });

  it("needs no version while the answer to our own hold is on its way", async () => {
    const { queue, posts } = queueAnswering(new Promise<never>(() => undefined), row(4));

    queue.tap(request({ action: "pause", version: null }));
    queue.sendNow(queue.tap(terminate).key);
    await soon();

    expect(posts.map(({ tap }) => [tap.action, tap.version])).toEqual([
      ["pause", null],
      ["terminate", null],
    ]);
    expect(posts.map(({ tap }) => bodyOf(tap)).at(-1)).toEqual({
      key: "key-2",
      action: "terminate",
    });
    expect(queue.of("d1")?.phase).toBe("asked");
  });

  it("keeps the words of a message that was not taken until it is closed", async () => {
    const { queue } = queueAnswering(new ProblemError(400, { detail: "no" }));
    const message = queue.tap(request({ action: "inject", decision: null, message: "Go on." }));
    queue.tap(request({ decision: "d2" }));
    await vi.advanceTimersByTimeAsync(61_000);

    queue.tap(request({ decision: "d3" }));

    expect(queue.all.map(({ decision }) => decision)).toEqual([null, "d3"]);
    queue.dismiss(message.key);
    expect(queue.all).toHaveLength(1);
  });

  it("keeps its version when somebody else changed the run’s status too", async () => {
    const { queue, posts } = queueAnswering(row(9));

    queue.tap(terminate);
    queue.tap(request({ action: "pause", version: null }));
    await vi.advanceTimersByTimeAsync(COUNT_MS);

    expect(posts.at(-1)?.tap.version).toBe(3);
  });
});

describe("a tap that outlives the page", () => {
  it("is stored from when it leaves until it has arrived", async () => {
    const { queue, storage } = queueAnswering(new UnreachableError(), row());

    queue.tap(request());
    await soon();
    expect([...storage.values()].map(({ action, version }) => [action, version])).toEqual([
      ["continue", 3],
    ]);
    queue.retryKept();
    await soon();

    expect(storage.size).toBe(0);
  });

  it("is sent by the next visit with its own key and version, once", async () => {
    const before = queueAnswering(new UnreachableError());
    before.queue.tap(request());
    await soon();
    const { queue, posts, storage } = queueAnswering(row());
    const kept = [...before.storage.values()];

    queue.restore(kept);
    queue.restore(kept);
    await vi.advanceTimersByTimeAsync(60_000);
    expect([posts, queue.hasKept]).toEqual([[], true]); // until it is known who is here
    queue.retryKept();
    await vi.advanceTimersByTimeAsync(60_000);

    expect(posts.map(({ tap }) => [tap.key, tap.version])).toEqual([["key-1", 3]]);
    expect([phases(queue), storage.size]).toEqual([["asked"], 0]);
  });

  it("is dropped with a sentence where the card moved on", async () => {
    const problem = new ProblemError(409, { code: "stale_run", detail: "Ana continued it." });
    const { queue, posts, storage } = queueAnswering(problem);

    queue.restore([
      {
        ...request(),
        key: "k",
        phase: "kept",
        leavesAt: null,
        tries: 1,
        madeAt: Date.now(),
        problem: null,
      },
    ]);
    queue.retryKept();
    await vi.advanceTimersByTimeAsync(60_000);

    expect([posts.length, storage.size, queue.all[0]?.problem?.message]).toEqual([
      1,
      0,
      "Ana continued it.",
    ]);
  });

  it("is not sent when the night is over", async () => {
    const { queue, posts } = queueAnswering(row());
    const madeAt = Date.now() - KEPT_FOR_MS;

    queue.restore([
      { ...request(), key: "k", phase: "kept", leavesAt: null, tries: 1, madeAt, problem: null },
    ]);
    queue.retryKept();
    await vi.advanceTimersByTimeAsync(60_000);

    expect([posts.length, phases(queue), queue.all[0]?.problem?.message]).toEqual([
      0,
      ["failed"],
      "This answer waited for more than 12 hours and was not sent.",
    ]);
  });

  it("is nobody's once somebody else is here", async () => {
    const { queue, posts, storage } = queueAnswering(new UnreachableError());
    queue.tap(request());
    await soon();

    queue.forgetAll();
    await vi.advanceTimersByTimeAsync(60_000);

    expect([posts.length, queue.all, storage.size]).toEqual([1, [], 0]);
  });
});

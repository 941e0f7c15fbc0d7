/** A socket that tells what it is given: the feed asks for a snapshot only where something is lost. */
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { aRun, NOON, PROJECT } from "../fixtures/rows";
import type { Snapshot } from "../wire/types";
import { clock } from "./clock.svelte";
import { Feed } from "./feed.svelte";
import { GAP_MS } from "./gaps";

// The clock ticks and listens from its import on; its ticks end with these timers.
vi.hoisted(() => {
  vi.useFakeTimers();
  vi.stubGlobal("document", { hidden: false, addEventListener() {} });
});

class Socket {
  static opened: Socket[] = [];
  onmessage: (message: { data: string }) => void = () => undefined;
  onclose: (event: { code: number }) => void = () => undefined;
  constructor() {
    Socket.opened.push(this);
    queueMicrotask(() =>
      this.tell({ type: "snapshot", at: NOON, runs: [aRun()], decisions: [], interventions: [] }),
    );
  }
  tell(frame: object) {
    this.onmessage({ data: JSON.stringify({ seq: {}, ...frame }) });
  }
  close() {
    this.onmessage = () => undefined;
  }
}

const turn = (seq: number) => ({
  type: "turn.recorded",
  run: "run-1",
  project: PROJECT,
  seq,
  at: NOON,
  by: "agent",
  version: 1,
  status: null,
  turn_id: `${seq}`,
  turn_seq: seq,
  digest: "",
  turn: null,
});

beforeEach(() => {
  vi.useFakeTimers();
  Socket.opened = [];
  vi.stubGlobal("WebSocket", Socket);
  vi.stubGlobal("location", { protocol: "http:", host: "here" });
  vi.stubGlobal("document", { hidden: false, addEventListener() {}, removeEventListener() {} });
  vi.stubGlobal("addEventListener", () => undefined);
  vi.stubGlobal("removeEventListener", () => undefined);
});
afterEach(() => {
  vi.useRealTimers();
  vi.unstubAllGlobals();
});

const aSnapshot = (id: string): Snapshot => ({
  type: "snapshot",
  at: NOON,
  runs: [aRun({ id })],
  decisions: [],
  interventions: [],
  seq: {},
});

async function opened() {
  const feed = new Feed("/ws/projects/p/", { arrived() {}, refused() {} });
  await vi.advanceTimersByTimeAsync(5_000);
  const [socket] = Socket.opened;
  if (!socket) throw new Error("no socket was opened");
  return { feed, socket };
}

test("turns that overtook each other cost no snapshot", async () => {
  const { feed, socket } = await opened();

  for (const seq of [3, 2, 5, 6, 4]) {
    socket.tell(turn(seq));
    await vi.advanceTimersByTimeAsync(GAP_MS / 2);
  }
  await vi.advanceTimersByTimeAsync(10_000);

  expect([feed.state.seq.get("run-1"), Socket.opened.length]).toEqual([6, 1]);
});

test("a turn that was lost is given up though others go on coming", async () => {
  const { socket } = await opened();

  for (let seq = 3; Socket.opened.length === 1 && seq < 40; seq += 1) {
    socket.tell(turn(seq));
    await vi.advanceTimersByTimeAsync(100);
  }

  expect(Socket.opened.length).toBe(2);
});

test("a turn that was lost costs one", async () => {
  const { socket } = await opened();

  socket.tell(turn(3));
  await vi.advanceTimersByTimeAsync(GAP_MS / 2);
  expect(Socket.opened.length).toBe(1);
  await vi.advanceTimersByTimeAsync(10_000);

  expect(Socket.opened.length).toBe(2);
});

test("what was read ahead is shown until the socket's snapshot comes", async () => {
  const feed = new Feed("/ws/projects/p/", { arrived() {}, refused() {} });
  feed.begin(aSnapshot("read ahead"));
  expect([...feed.state.runs.keys()]).toEqual(["read ahead"]);
  expect(feed.isLive).toBe(false);

  await vi.advanceTimersByTimeAsync(5_000);
  expect([...feed.state.runs.keys()]).toEqual(["run-1"]);
  expect(feed.isLive).toBe(true);
});

test("what was read ahead and comes late replaces nothing", async () => {
  const { feed } = await opened();
  feed.begin(aSnapshot("read ahead"));
  expect([...feed.state.runs.keys()]).toEqual(["run-1"]);
});

test("what was read ahead is not shown to whom the socket refused meanwhile", async () => {
  const { feed, socket } = await opened();
  socket.onclose({ code: 4403 });
  feed.begin(aSnapshot("read ahead"));
  expect(feed.state.runs.size).toBe(0);
});

test("a device whose clock is wrong goes by the server's", async () => {
  vi.setSystemTime(Date.parse(NOON) + 600_000);

  await opened();

  // Five seconds have passed since the snapshot, however late it is on this device.
  expect(clock.read().getTime()).toBe(Date.parse(NOON) + 5_000);
  expect(Date.now()).toBe(Date.parse(NOON) + 605_000);
});

test("a line on which nothing is said any more is lost, though nobody hung up", async () => {
  const { feed, socket } = await opened();

  for (let second = 0; second < 90; second += 15) {
    await vi.advanceTimersByTimeAsync(15_000);
    socket.tell({ type: "meters", runs: {} });
  }
  expect([feed.isLive, Socket.opened.length]).toEqual([true, 1]);

  await vi.advanceTimersByTimeAsync(59_000);
  expect(feed.isLive).toBe(true);
  await vi.advanceTimersByTimeAsync(1_001);
  expect(feed.link.kind).toBe("offline");

  await vi.advanceTimersByTimeAsync(5_000);
  expect([feed.isLive, Socket.opened.length]).toEqual([true, 2]);
  feed.close();
});

test("a socket that tells no snapshot is opened anew", async () => {
  class Silent extends Socket {
    override tell() {}
  }
  vi.stubGlobal("WebSocket", Silent);
  const feed = new Feed("/ws/projects/p/", { arrived() {}, refused() {} });

  await vi.advanceTimersByTimeAsync(29_000);
  expect([feed.link.kind, Socket.opened.length]).toEqual(["connecting", 1]);
  await vi.advanceTimersByTimeAsync(6_000);

  expect([feed.link.kind, Socket.opened.length]).toEqual(["offline", 2]);
  feed.close();
});

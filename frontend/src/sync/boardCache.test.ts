import { describe, expect, it } from "vitest";
import { aDecision, aProject, aRun, NOON, PROJECT } from "../fixtures/rows";
import type { Me, RunRow } from "../wire/types";
import { frameOf, BoardCache, MAX_RUNS } from "./boardCache";
import { EMPTY, reduce, type LiveState } from "./reduce";
import type { KeyValueStorage } from "./storage";

/** Storage in a map, as a browser's would be. */
function aStorage() {
  const kept = new Map<string, unknown>();
  let writes = 0;
  const storage: KeyValueStorage = {
    put: async (key, value) => {
      writes++;
      kept.set(key, structuredClone(value));
      await Promise.resolve();
    },
    get: async (key) => await JSON.parse(JSON.stringify(kept.get(key) ?? null)),
    all: async (prefix) =>
      await Promise.resolve(
        JSON.parse(
          JSON.stringify([...kept].filter(([key]) => key.startsWith(prefix)).map(([, v]) => v)),
        ),
      ),
    remove: async (key) => {
      kept.delete(key);
      await Promise.resolve();
    },
    clear: async () => {
      kept.clear();
      await Promise.resolve();
    },
  };
  return { storage, kept, writes: () => writes };
}

const person = (id: string, projects = [PROJECT]): Me => ({
  user: { id, name: id },
  projects: projects.map((project) => aProject({ id: project })),
  version: "1",
  agent_url: "",
  demo: null,
  closed: [],
});
const stateOf = (runs: RunRow[]): LiveState =>
  reduce(EMPTY, {
    type: "snapshot",
    at: NOON,
    runs,
    decisions: [aDecision()],
    interventions: [],
    seq: Object.fromEntries(runs.map(({ id, seq }) => [id, seq])),
  });

describe("the last known state", () => {
  it("comes back as it was", () => {
    const state = stateOf([aRun(), aRun({ id: "run-2" })]);

    expect(reduce(EMPTY, frameOf(state))).toEqual(state);
  });

  it("is written once while nothing changes", async () => {
    const { storage, writes } = aStorage();
    const cache = new BoardCache(storage);
    const state = stateOf([aRun()]);

    await cache.save(PROJECT, state, new Date());
    await cache.save(PROJECT, state, new Date());

    expect(writes()).toBe(1);
  });

  it("is not written before anything is known", async () => {
    const { storage, kept } = aStorage();

    await new BoardCache(storage).save(PROJECT, EMPTY, new Date());

    expect(kept.size).toBe(0);
  });

  it("of a large board keeps what runs, and every open card", () => {
    const ended = Array.from({ length: MAX_RUNS }, (_, i) =>
      aRun({ id: `old-${String(i)}`, status: "completed" }),
    );
    const frame = frameOf(stateOf([...ended, aRun({ id: "live" })]));

    expect([frame.runs.length, frame.runs[0]?.id, frame.decisions.length]).toEqual([
      MAX_RUNS,
      "live",
      1,
    ]);
  });

  it("is nobody's where nobody was", async () => {
    expect(await new BoardCache(aStorage().storage).load()).toBeNull();
  });

  it("of a project that was left is gone", async () => {
    const { storage } = aStorage();
    const cache = new BoardCache(storage);
    await cache.save(PROJECT, stateOf([aRun()]), new Date());

    await cache.beginSession(person("ana", []));

    expect((await cache.load())?.boards.size).toBe(0);
  });

  it("is erased for whoever signs in next", async () => {
    const { storage, kept } = aStorage();
    const cache = new BoardCache(storage);
    await cache.beginSession(person("ana"));
    await cache.save(PROJECT, stateOf([aRun()]), new Date());
    await storage.put("tap:1", {});

    expect([await cache.beginSession(person("ana")), kept.size]).toEqual([false, 3]);
    expect([await cache.beginSession(person("bo")), [...kept.keys()]]).toEqual([true, ["me"]]);
  });

  it("is loaded with its person and the time it was true", async () => {
    const { storage } = aStorage();
    const cache = new BoardCache(storage);
    await cache.beginSession(person("ana"));
    await cache.save(PROJECT, stateOf([aRun()]), new Date(NOON));

    const loaded = await cache.load();

    expect([loaded?.me.user.name, loaded?.boards.get(PROJECT)?.frame.runs[0]?.name]).toEqual([
      "ana",
      "fix-auth-tests",
    ]);
  });
});

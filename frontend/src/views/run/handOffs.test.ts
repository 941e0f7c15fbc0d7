import { describe, expect, it } from "vitest";
import { aTurn } from "../../fixtures/rows";
import type { HandOffs } from "../../wire/types";
import { cycleOf, lanesOf, longestChain, ringPlaces, ticksOf, timesAt, waitsOf } from "./handOffs";

const handed = (...told: [seq: number, giver: string, taker: string][]): HandOffs => ({
  run: "run-1",
  more: false,
  results: told.map(([seq, giver, taker]) => ({
    seq,
    giver,
    taker,
    asked: aTurn({ seq: seq - 1 }),
    new_facts: 0,
  })),
});

describe("lanesOf", () => {
  it("has a stretch between any two hand-offs", () => {
    const { agents, stretches, crossings } = lanesOf(
      handed([3, "ana", "ben"], [5, "ben", "ana"]),
      8,
    );

    expect(agents).toEqual(["ana", "ben"]);
    expect(stretches).toEqual([
      { agent: "ana", from: 0, to: 2 },
      { agent: "ben", from: 3, to: 4 },
      { agent: "ana", from: 5, to: 7 },
    ]);
    expect(crossings).toHaveLength(2);
  });

  it("has no lanes where nobody handed on", () => {
    expect(lanesOf(handed(), 8)).toEqual({
      agents: [],
      stretches: [],
      crossings: [],
      from: 0,
      to: 7,
      folded: [],
    });
  });

  it("folds who was quiet longest of more than eight agents, until all are asked for", () => {
    const agents = Array.from({ length: 10 }, (_, i) => `a${String(i)}`);
    const one = handed(
      ...agents
        .slice(1)
        .map((taker, i): [number, string, string] => [i + 1, `a${String(i)}`, taker]),
      [10, "a9", "a0"],
    );

    expect(lanesOf(one, 12).folded).toEqual(["a1", "a2"]);
    expect(lanesOf(one, 12).agents).toEqual(["a0", ...agents.slice(3)]);
    expect(lanesOf(one, 12, Infinity)).toMatchObject({ agents, folded: [] });
  });

  it("shows the newest of very many", () => {
    const many = Array.from({ length: 200 }, (_, i): [number, string, string] => [
      i * 2 + 2,
      `a${String(i % 12)}`,
      `a${String((i + 1) % 12)}`,
    ]);

    const { agents, crossings, from, to } = lanesOf(handed(...many), 500);

    expect([agents.length, from, to]).toEqual([8, 240, 499]);
    expect(crossings.length).toBeLessThanOrEqual(80);
  });
});

describe("a circle", () => {
  it("counts who hands to whom", () => {
    expect(cycleOf(["a", "b", "c", "a", "b", "b"])).toEqual([
      { giver: "a", taker: "b", times: 2 },
      { giver: "b", taker: "c", times: 1 },
      { giver: "c", taker: "a", times: 1 },
    ]);
    expect(cycleOf(["a"])).toEqual([]);
  });

  it("stands round a ring, the first on top", () => {
    const [top, ...rest] = ringPlaces(3);

    expect(top).toEqual([0.5, 0]);
    expect(rest.every(([x, y]) => x >= 0 && x <= 1 && y > 0.5 && y <= 1)).toBe(true);
  });
});

describe("who handed on to whom last", () => {
  const passed = (...agents: string[]) =>
    lanesOf(
      handed(
        ...agents
          .slice(1)
          .map((taker, i): [number, string, string] => [i + 1, agents[i] ?? "", taker]),
      ),
      agents.length,
    );

  it("is who handed on and was quiet since, up to who works now", () => {
    const waits = waitsOf(passed("planner", "api", "ui", "tests"));

    expect(waits.map(({ agent, for: who }) => [agent, who])).toEqual([
      ["planner", "api"],
      ["api", "ui"],
      ["ui", "tests"],
    ]);
    expect(longestChain(waits)).toEqual(["planner", "api", "ui", "tests"]);
  });

  it("is nobody who has worked again since", () => {
    expect(waitsOf(passed("a", "b", "a")).map(({ agent }) => agent)).toEqual(["b"]);
    expect(longestChain([])).toEqual([]);
  });
});

describe("ticksOf", () => {
  const ticks = (most: number, ...told: Parameters<typeof handed>) => {
    const handOffs = handed(...told);
    return ticksOf(handOffs, lanesOf(handOffs, 100), most, 0).map(({ seq }) => seq);
  };

  it("has one hand-off in each part of the way, where there is one", () => {
    expect(ticks(4, [10, "ana", "ben"], [20, "ben", "ana"], [60, "ana", "ben"])).toEqual([10, 60]);
  });

  it("leaves out what would stand on the one before", () => {
    expect(ticks(4, [24, "ana", "ben"], [26, "ben", "ana"])).toEqual([24]);
  });

  it("writes a late time before its tick, and leaves out the one that it would stand on", () => {
    const handOffs = handed([10, "ana", "ben"], [40, "ben", "ana"], [80, "ana", "ben"]);
    const shown = ticksOf(handOffs, lanesOf(handOffs, 100), 3, 0.25);

    expect(shown.map(({ seq, isLate }) => [seq, isLate])).toEqual([
      [10, false],
      [80, true],
    ]);
  });
});

describe("timesAt", () => {
  const written = (...times: string[]) =>
    timesAt(
      times.map((at, seq) => ({ seq, at, place: seq / 10, isLate: false })),
      new Date("2026-11-14T15:00:00Z"),
    ).map(({ seq }) => seq);

  it("writes a time once, however many hand-offs are in its second", () => {
    const [first, second] = ["2026-11-14T14:41:07.100Z", "2026-11-14T14:41:08.100Z"];

    expect(written(first, "2026-11-14T14:41:07.900Z", second)).toEqual([0, 2]);
  });

  it("writes a time once, however many hand-offs of a long way are in its minute", () => {
    const [first, later] = ["2026-11-14T13:41:07Z", "2026-11-14T14:41:08Z"];

    expect(written(first, "2026-11-14T13:41:50Z", later)).toEqual([0, 2]);
  });
});

import { describe, expect, it } from "vitest";
import { aTurn } from "../../fixtures/rows";
import type { HandOffs } from "../../wire/types";
import { circleOf, lanesOf, ringPlaces } from "./crew";

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
    });
  });

  it("shows the newest of very many, and the busiest of very many agents", () => {
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
    expect(circleOf(["a", "b", "c", "a", "b", "b"])).toEqual([
      { giver: "a", taker: "b", times: 2 },
      { giver: "b", taker: "c", times: 1 },
      { giver: "c", taker: "a", times: 1 },
    ]);
    expect(circleOf(["a"])).toEqual([]);
  });

  it("stands round a ring, the first on top", () => {
    const [top, ...rest] = ringPlaces(3);

    expect(top).toEqual([0.5, 0]);
    expect(rest.every(([x, y]) => x >= 0 && x <= 1 && y > 0.5 && y <= 1)).toBe(true);
  });
});

import { describe, expect, it } from "vitest";
import { aRun } from "../../fixtures/rows";
import { linkedRunLanes } from "./linkedRunLanes";

const at = (minute: number) => `2026-11-21T12:${String(minute).padStart(2, "0")}:00Z`;
const NOW = new Date(at(40));
const lead = aRun({ id: "a", started_at: at(0) });
const reader = aRun({
  id: "b",
  parent: "a",
  relation: "child",
  started_at: at(10),
  ended_at: at(20),
  status: "completed",
});
const writer = aRun({ id: "c", parent: "a", relation: "child", started_at: at(20) });
const checker = aRun({
  id: "d",
  parent: "b",
  relation: "child",
  started_at: at(12),
  ended_at: at(15),
  status: "failed",
});
const names = ({ lanes }: ReturnType<typeof linkedRunLanes>) =>
  lanes.map(({ run, depth }) => [run.id, depth]);

describe("linkedRunLanes", () => {
  const picture = linkedRunLanes([writer, checker, reader, lead], "a", NOW);

  it("gives each run a lane under the one that started it", () => {
    expect(names(picture)).toEqual([
      ["a", 0],
      ["b", 1],
      ["d", 2],
      ["c", 1],
    ]);
  });

  it("places each by when it began and ended; who still works reaches to now", () => {
    expect(picture.lanes.map(({ from, to }) => [from, to])).toEqual([
      [0, 1],
      [0.25, 0.5],
      [0.3, 0.375],
      [0.5, 1],
    ]);
    expect([picture.began, picture.ended]).toEqual([new Date(at(0)), NOW]);
  });

  it("draws a start, and a way back once the started one has ended", () => {
    expect(picture.links).toEqual([
      { at: 0.25, giver: 0, taker: 1, isBack: false },
      { at: 0.5, giver: 1, taker: 0, isBack: true },
      { at: 0.3, giver: 1, taker: 2, isBack: false },
      { at: 0.375, giver: 2, taker: 1, isBack: true },
      { at: 0.5, giver: 0, taker: 3, isBack: false },
    ]);
  });

  it("has no way back to a run that was over by then, nor from a fork", () => {
    const over = { ...lead, status: "completed" as const, ended_at: at(15) };
    const forked = aRun({
      id: "e",
      parent: "a",
      relation: "forked",
      started_at: at(16),
      ended_at: at(18),
      status: "completed",
    });

    expect(
      linkedRunLanes([over, reader, forked], "a", NOW).links.map(({ isBack }) => isBack),
    ).toEqual([false, false]);
  });

  it("keeps the run itself, those above and below it, of very many", () => {
    const others = Array.from({ length: 50 }, (_, i) =>
      aRun({
        id: `x${String(i).padStart(2, "0")}`,
        parent: "a",
        relation: "child",
        started_at: at(1),
      }),
    );
    const many = linkedRunLanes([lead, reader, checker, ...others], "b", NOW, 5);

    expect(names(many).map(([id]) => id)).toEqual(["a", "b", "d", "x48", "x49"]);
    expect(many.more).toBe(48);
  });

  it("stands without the run above, and without any time that passed", () => {
    expect(names(linkedRunLanes([reader], "b", NOW))).toEqual([["b", 0]]);
    expect(
      linkedRunLanes([aRun({ started_at: at(40) })], "run-1", NOW).lanes.map(({ from, to }) => [
        from,
        to,
      ]),
    ).toEqual([[0, 0]]);
  });
});

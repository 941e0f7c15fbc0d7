import { expect, it } from "vitest";
import { aDecision } from "../fixtures/rows";
import { groupTaps, splitByAction } from "./bulkAnswers";

const loop = aDecision({ id: "loop" });
const budget = aDecision({ id: "budget", actions: ["allow_budget", "finish", "terminate"] });
const codex = aDecision({
  id: "codex",
  actions: ["continue"],
  unavailable: { terminate: "cannot be ended" },
});
const ids = (cards: readonly { id: string }[]) => cards.map(({ id }) => id);

it("counts only the cards that offer the answer", () => {
  const { can, cannot } = splitByAction([loop, budget], "continue");

  expect([ids(can), ids(cannot)]).toEqual([["loop"], ["budget"]]);
});

it("leaves out an agent that cannot do it", () => {
  const { can, cannot } = splitByAction([loop, budget, codex], "terminate");

  expect([ids(can), ids(cannot)]).toEqual([["loop", "budget"], ["codex"]]);
});

it("puts what one press did into one bar, and what fared otherwise into another", () => {
  const tap = (key: string, phase: string, together?: string) => ({ key, phase, together });
  const taps = [
    tap("a", "asked", "one"),
    tap("b", "kept", "one"),
    tap("c", "asked"),
    tap("d", "asked", "one"),
  ];

  expect(groupTaps(taps).map((bar) => bar.map(({ key }) => key))).toEqual([
    ["a", "d"],
    ["b"],
    ["c"],
  ]);
});

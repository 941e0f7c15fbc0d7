import { expect, it } from "vitest";
import { aPermission, aRun, aTurn } from "../fixtures/rows";
import { errorName, pendingOf, resultWords, turnWords } from "./turnWords";

it("says what a turn did", () => {
  expect(turnWords(aTurn())).toEqual({ tool: "Bash", rest: "pytest -q" });
  expect(turnWords(aTurn({ args: { command: "a\nb" } })).rest).toBe("a");
  expect(turnWords(aTurn({ args: { n: 3 } })).rest).toBe("3");
  expect(turnWords(aTurn({ args: { n: 3, m: 4 } })).rest).toBe('{"n":3,"m":4}');
  expect(turnWords(aTurn({ args: {} })).rest).toBe("");
  expect(turnWords(aTurn({ args: null })).rest).toBe("");
  expect(turnWords(aTurn({ tool: null, content: " hm " }))).toEqual({ tool: "", rest: "hm" });
});

it("says what came of a turn", () => {
  expect(resultWords(aTurn({ result: "a\n\nb" }))).toBe("2 lines");
  expect(resultWords(aTurn({ result: " ok \n" }))).toBe("ok");
  expect(resultWords(aTurn())).toBe("");
});

it.each([
  ["running", {}],
  ["heldBefore", { status: "held" }],
  ["untold", { status: "completed" }],
  ["untold", { presence: "idle" }],
  ["untold", { presence: "gone" }],
] as const)("says of a call without an end: %s", (pending, run) => {
  expect(pendingOf(aTurn({ seq: 4 }), aRun(run), [])).toBe(pending);
});

it("does not say that a call runs which a person is asked about, or denied", () => {
  const card = aPermission();
  const turn = aTurn({ seq: card.evidence.turns[0] ?? -1 });
  const other = aTurn({ seq: turn.seq + 1 });

  expect(pendingOf(turn, aRun(), [card])).toBe("asks");
  expect(pendingOf(other, aRun(), [card])).toBe("running");
  expect(pendingOf(turn, aRun(), [{ ...card, status: "resolved", resolution: "deny" }])).toBe(
    "denied",
  );
});

it("names an error by what went wrong at the end", () => {
  expect(errorName("ImportError while\nE   ModuleNotFoundError: x")).toBe("ModuleNotFoundError");
  expect(errorName("KeyError: a\n\nValueError: b")).toBe("ValueError");
  expect(errorName("\nexit code 1\nmore")).toBe("exit code 1");
});

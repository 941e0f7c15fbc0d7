import { describe, expect, it } from "vitest";
import { aTurn } from "../fixtures/rows";
import { filterOf, isUnfiltered, hasFilters, matches, paramsOf } from "./turnFilter";

const EVERYTHING = filterOf(new URLSearchParams());

describe("a filter in the address", () => {
  it("is read as it was written", () => {
    const filter = {
      ...EVERYTHING,
      agent: "a & b",
      tool: "Bash",
      flagged: true,
      q: "ä b",
      only: true,
    };

    expect(filterOf(new URLSearchParams(new URLSearchParams(paramsOf(filter)).toString()))).toEqual(
      filter,
    );
  });

  it("says nothing where everything is shown", () => {
    expect(paramsOf({ ...EVERYTHING, only: true, q: "  " })).toEqual({});
    expect([
      isUnfiltered(EVERYTHING),
      isUnfiltered({ ...EVERYTHING, q: "x" }),
      hasFilters({ ...EVERYTHING, q: "x" }),
    ]).toEqual([true, false, false]);
  });

  it("keeps no more words than the server takes", () => {
    expect(filterOf(new URLSearchParams({ q: "x".repeat(300) })).q).toHaveLength(200);
  });
});

describe("matches", () => {
  const turn = aTurn({
    agent: "coder",
    tool: "Bash",
    role: "assistant",
    detector: "same_error",
    error: "KeyError",
    args: { command: "ls" },
  });
  const shows = (change: object) => matches(turn, { ...EVERYTHING, ...change });

  it("takes a turn that has all that is asked", () => {
    expect(
      shows({
        agent: "coder",
        tool: "Bash",
        role: "assistant",
        signal: "same_error",
        flagged: true,
        q: "keyerror",
      }),
    ).toBe(true);
  });

  it("leaves out a turn that lacks one of it", () => {
    const wrong = [
      { agent: "x" },
      { tool: "Read" },
      { role: "user" },
      { signal: "stall" },
      { q: "nowhere" },
    ];

    expect(wrong.map(shows)).toEqual([false, false, false, false, false]);
    expect(matches({ ...turn, detector: null }, { ...EVERYTHING, flagged: true })).toBe(false);
  });

  it("calls turns without a tool text", () => {
    expect(matches({ ...turn, tool: null, content: "So." }, { ...EVERYTHING, tool: "text" })).toBe(
      true,
    );
  });

  it("finds words in tool, arguments, content, result and error", () => {
    const texts = aTurn({
      tool: "Grep",
      args: { a: "one" },
      content: "two",
      result: "three",
      error: "four",
    });

    expect(
      ["grep", "ONE", "two", "thr", "FOUR", ""].every((q) => matches(texts, { ...EVERYTHING, q })),
    ).toBe(true);
  });
});

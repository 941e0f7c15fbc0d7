import { describe, expect, it } from "vitest";
import { absorb, isSame, lineOf, readLine, without } from "./searchTokens";

const raws = (line: string) => readLine(line).tokens.map(({ raw }) => raw);

describe("readLine", () => {
  it("tells tokens from words", () => {
    expect(readLine('agent:coder timeout "exact words" cost:>1')).toEqual({
      tokens: [
        { raw: "agent:coder", key: "agent", value: "coder", negated: false },
        { raw: "cost:>1", key: "cost", value: ">1", negated: false },
      ],
      words: 'timeout "exact words"',
    });
  });

  it("reads a value in quotes and a minus", () => {
    expect(readLine('-agent:"code x"').tokens).toEqual([
      { raw: '-agent:"code x"', key: "agent", value: "code x", negated: true },
    ]);
  });

  it.each(["http://host", "TODO:later", "status:", "::", '"', "-", "", "   "])(
    "takes %j for words",
    (line) => {
      expect(raws(line)).toEqual([]);
    },
  );

  it("reads keys in capitals", () => {
    expect(readLine("Agent:coder").tokens[0]?.key).toBe("agent");
  });
});

it.each(["", "a", "agent:x", 'words agent:x "more words" -is:flagged', 'a "open quote'])(
  "puts %j together so that it is the same question",
  (line) => {
    const again = lineOf(readLine(line));

    expect(isSame(again, line)).toBe(true);
    expect(lineOf(readLine(again))).toBe(again);
  },
);

it("takes out one token and leaves the others", () => {
  const [first] = readLine("is:flagged is:flagged word").tokens;

  expect(first && without("is:flagged is:flagged word", first)).toBe("is:flagged word");
});

describe("absorb", () => {
  it("waits until a token is finished", () => {
    expect(absorb("agent:cod", false)).toEqual({ tokens: [], words: "agent:cod" });
    expect(absorb("agent:coder ", false).tokens.map(({ raw }) => raw)).toEqual(["agent:coder"]);
    expect(absorb("agent:coder ", false).words).toBe("");
    expect(absorb("agent:coder", true).tokens).toHaveLength(1);
  });

  it("leaves a value in quotes alone until it is closed", () => {
    expect(absorb('agent:"code x', false).tokens).toEqual([]);
    expect(absorb('agent:"code x" ', false).tokens).toHaveLength(1);
  });

  it("keeps what is typed besides", () => {
    expect(absorb("one agent:x two", false)).toMatchObject({ words: "one two" });
    expect(absorb("one two ", false)).toEqual({ tokens: [], words: "one two " });
  });
});

it("asks the same in another order", () => {
  expect(isSame("is:flagged since:7d", "since:7d is:flagged")).toBe(true);
  expect(isSame("is:flagged", "is:fixed")).toBe(false);
});

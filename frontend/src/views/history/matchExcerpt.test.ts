import { expect, it } from "vitest";
import { nearMark, piecesOf } from "./matchExcerpt";

it("marks by characters, also behind an emoji", () => {
  expect(piecesOf({ text: "🔁 a token", marks: [[4, 9]] })).toEqual([
    { text: "🔁 a ", isMarked: false },
    { text: "token", isMarked: true },
  ]);
});

it("leaves a text without marks whole", () => {
  expect(piecesOf({ text: "a", marks: [] })).toEqual([{ text: "a", isMarked: false }]);
});

it("begins shortly before the first mark where space is short", () => {
  const near = nearMark(piecesOf({ text: "a long text and a token", marks: [[18, 23]] }));

  expect(near.map(({ text }) => text)).toEqual(["…and a ", "token"]);
});

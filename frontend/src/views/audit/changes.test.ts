import { expect, it } from "vitest";
import { sidesOf, toldOf } from "./changes";

it("marks the lines that differ", () => {
  const sides = sidesOf({
    what: "policy",
    before: { a: { x: 3, y: 1 } },
    after: { a: { x: 5, y: 1 }, b: [1] },
  });

  expect(sides?.before).toEqual([
    { text: "a.x = 3", isChanged: true },
    { text: "a.y = 1", isChanged: false },
  ]);
  expect(sides?.after.map(({ text, isChanged }) => (isChanged ? text : ""))).toEqual([
    "a.x = 5",
    "",
    "b = [1]",
  ]);
});

it("takes a plain value and an empty side", () => {
  expect(sidesOf({ before: 3600, after: 1800 })).toEqual({
    before: [{ text: "3600", isChanged: true }],
    after: [{ text: "1800", isChanged: true }],
  });
  expect(sidesOf({ before: {}, after: null })).toEqual({ before: [], after: [] });
});

it("knows that a payload has no sides", () => {
  expect(sidesOf({ reason: "x" })).toBeNull();
  expect(sidesOf(null)).toBeNull();
});

it("leaves out what a payload does not say", () => {
  expect(toldOf({ reason: "held", mode: null })).toBe('{\n  "reason": "held"\n}');
});

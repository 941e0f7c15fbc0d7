import { describe, expect, it } from "vitest";
import { compare, differenceWords, isSame, merge } from "./diff";

describe("compare", () => {
  it("marks only the word that differs", () => {
    const [left, right] = compare("1 error in 0.42s", "1 error in 0.40s");

    expect(left).toEqual([
      { text: "1 error in ", differs: false },
      { text: "0.42s", differs: true },
    ]);
    expect(right.at(-1)).toEqual({ text: "0.40s", differs: true });
  });

  it("marks nothing in equal texts", () => {
    const [left, right] = compare("same\ntext", "same\ntext");

    expect(isSame(left) && isSame(right)).toBe(true);
  });

  it("marks what one side lacks", () => {
    const [left, right] = compare("a b", "a b c");

    expect([isSame(left), isSame(right)]).toEqual([true, false]);
  });

  it("gives up on very long texts instead of hanging", () => {
    const long = "word ".repeat(500);

    expect(compare(long, "x")[0]).toEqual([{ text: long, differs: false }]);
    expect(compare("", long)[0]).toEqual([]);
  });
});

it.each([
  ["in 0.42s", "in 0.40s", "Only times differ. Times do not count as a change."],
  ["got 4", "got 5", "Only numbers differ."],
  ["one", "two", "Differences are marked."],
  ["one", "one", "Identical output."],
])("says what kind of difference lies between %s and %s", (a, b, words) => {
  expect(differenceWords(...compare(a, b))).toBe(words);
});

it("shows both texts as one, with what differs from each side", () => {
  expect(merge("in 0.42s now", "in 0.40s now")).toEqual([
    { side: "both", text: "in " },
    { side: "left", text: "0.42s" },
    { side: "right", text: "0.40s" },
    { side: "both", text: " now" },
  ]);
  expect(merge("x ".repeat(500), "y")).toEqual([{ side: "both", text: "y" }]);
});

import { expect, it } from "vitest";
import { isNumber, shownNumber, typedNumber, typedPattern } from "./typedNumber";

it.each([
  ["5.50", "5.50"],
  ["5,50", "5.50"],
  [" 45 ", "45"],
  ["0,075", "0.075"],
])("reads a number that is typed as %j", (typed, number) => {
  expect(typedNumber(typed)).toBe(number);
});

it.each(["1,234", "1.234,50", "$5", "-1", "1e3", ""])(
  "leaves what may mean another number as it is: %j",
  (typed) => {
    expect(typedNumber(typed)).toBe(typed);
    expect(isNumber(typed)).toBe(false);
  },
);

it("takes no thousands for a fraction: in German a point stands before them", () => {
  const typed = ["1000", "0.075", "5.50", "5,50", "1.0000", "1.000", "20.500"];
  const takenIn = (language: "en" | "de"): string[] =>
    typed.filter((text) => isNumber(text, language));

  expect(takenIn("en")).toEqual(typed);
  expect(takenIn("de")).toEqual(typed.slice(0, -2));
});

it("asks nobody again for the number that stands in a German field", () => {
  const shown = shownNumber("2.125", "de");
  const takes = (pattern: string): boolean => new RegExp(`^(?:${pattern})$`).test(shown);

  expect(shown).toBe("2,125");
  expect(takes(typedPattern("", "de"))).toBe(false);
  expect(takes(typedPattern(shown, "de"))).toBe(true);
});

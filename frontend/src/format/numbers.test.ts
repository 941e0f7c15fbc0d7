import { describe, expect, it } from "vitest";
import { bytes, count, fineMoney, mark, money, roundMoney, share, hundredths } from "./numbers";

describe("money", () => {
  it.each([
    ["2.31", "$2.31"],
    ["0", "$0.00"],
    ["0.004", "$0.004"],
    ["0.0001", "<$0.001"],
    ["0.061", "$0.06"],
    ["999.5", "$999.50"],
    ["1204.4", "$1,204"],
    ["-1.5", "\u2212$1.50"],
  ])("writes %s as %s", (value, text) => {
    expect(money(value)).toBe(text);
  });

  it("is finer for one turn", () => {
    expect([fineMoney("0.061"), fineMoney("1.5"), fineMoney("0")]).toEqual([
      "$0.061",
      "$1.50",
      "$0.00",
    ]);
  });

  it("says a ceiling without empty cents", () => {
    expect([roundMoney("5.00"), roundMoney("4.5")]).toEqual(["$5", "$4.50"]);
  });
});

describe("count", () => {
  it.each([
    [940, "940"],
    [9_100, "9.1k"],
    [9_960, "10k"],
    [412_000, "412k"],
    [999_600, "1M"],
    [1_200_000, "1.2M"],
  ])("writes %d as %s", (value, text) => {
    expect(count(value)).toBe(text);
  });
});

it("writes shares and likeness", () => {
  expect([share(0.456), hundredths(0.9)]).toEqual(["46%", "0.90"]);
  expect([mark(1), mark(0.5), mark(0.25)]).toEqual(["1", "0.5", "0.25"]);
});

it.each([
  [0, "0 B"],
  [940, "940 B"],
  [1_200, "1.2 kB"],
  [38_400_000, "38 MB"],
  [1_234_000_000_000, "1.2 TB"],
])("says %d bytes as %s", (size, words) => {
  expect(bytes(size)).toBe(words);
});

import { expect, it } from "vitest";
import { compareLines, hunksOf } from "./lines";

const drawn = (left: string, right: string) =>
  compareLines(left, right)?.map(
    ({ side, text }) => `${{ both: " ", left: "-", right: "+" }[side]}${text}`,
  );

it("marks the lines that only one side has", () => {
  expect(drawn("a\nb\nc\nd", "a\nx\nc\nd\ne")).toEqual([" a", "-b", "+x", " c", " d", "+e"]);
});

it("has nothing to mark in the same text", () => {
  expect(drawn("a\nb", "a\nb")).toEqual([" a", " b"]);
});

it("compares with nothing", () => {
  expect(drawn("", "a")).toEqual(["-", "+a"]);
  expect(drawn("a\na", "a")).toEqual([" a", "-a"]);
});

it("gives up on texts that are too long and too different", () => {
  const many = (sign: string) =>
    Array.from({ length: 2_500 }, (_, i) => `${sign}${String(i)}`).join("\n");

  expect(compareLines(many("a"), many("b"))).toBeNull();
  expect(compareLines(many("a"), `${many("a")}\nmore`)).toHaveLength(2_501);
});

it("leaves out what is alike far from any difference", () => {
  const lines = Array.from({ length: 20 }, (_, i) => String(i));
  const ops =
    compareLines(
      lines.join("\n"),
      lines.map((line) => (line === "10" ? "ten" : line)).join("\n"),
    ) ?? [];

  expect(hunksOf(ops).map((op) => op?.text ?? "…")).toEqual([
    "…",
    "7",
    "8",
    "9",
    "10",
    "ten",
    "11",
    "12",
    "13",
    "…",
  ]);
});

import { expect, it } from "vitest";
import { oneLine, plain } from "./plain";

it("leaves plain text as it is, in every script", () => {
  const text = "Grüße, 你好, שלום, مرحبا 👩‍🚒\n\tdone";

  expect(plain(text)).toBe(text);
});

it("shows what hides or turns the text round", () => {
  expect(plain("a\u202egpj.exe")).toBe("a[U+202E]gpj.exe");
  expect(plain("\u001b[31mred\u0007\u007f")).toBe("␛[31mred␇␡");
  expect(plain("zero\u200bwidth\ufeff")).toBe("zero[U+200B]width[U+FEFF]");
});

it("drops the return of a line's end", () => {
  expect(plain("a\r\nb")).toBe("a\nb");
});

it("puts a text on one line, cut", () => {
  expect(oneLine("a\n\n  b\tc")).toBe("a b c");
  expect(oneLine("x".repeat(1_000_000))).toHaveLength(300);
});

import { describe, expect, it } from "vitest";
import { endOf, literal, matchOf } from "./allowlistAdd";

describe("a pattern", () => {
  it("is a glob with a star, else one call", () => {
    expect([matchOf("Bash *"), matchOf("Bash ls")]).toEqual(["glob", "exact"]);
  });
  it("means only the star: other signs stand for themselves", () => {
    expect(literal('Bash {"args":["a?"]}*')).toBe('Bash {"args":[[]"a[?]"]}*');
  });
  it("without a star is sent as it was typed", () => {
    expect(literal("Read [1]?")).toBe("Read [1]?");
  });
});

describe("its end", () => {
  const now = new Date("2026-11-24T10:00:00Z");
  it("lies whole days ahead", () => {
    expect(endOf("week", now)).toBe("2026-12-01T10:00:00.000Z");
  });
  it("may be never", () => {
    expect(endOf("never", now)).toBeNull();
  });
});

import { describe, expect, it } from "vitest";
import { endsAfter } from "./invitations";

describe("an invitation", () => {
  it.each([
    ["day", "2026-11-24T11:59:00.000Z"],
    ["week", "2026-11-30T11:59:00.000Z"],
    ["month", "2026-12-23T11:59:00.000Z"],
  ] as const)("for a %s ends just before", (life, end) =>
    expect(endsAfter(life, new Date("2026-11-23T12:00:00Z"))).toBe(end),
  );
});

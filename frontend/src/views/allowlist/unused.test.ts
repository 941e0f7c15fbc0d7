import { expect, it } from "vitest";
import { unusedIn } from "./unused";

const now = new Date("2026-11-28T10:00:00Z");
const entry = (created_at: string, last_hit_at: string | null = null) => ({
  created_at,
  last_hit_at,
});

it("lists what was not hit in 30 days, a new entry from when it was made", () => {
  const hit = entry("2026-01-01T10:00:00Z", "2026-11-01T10:00:00Z");
  const idle = entry("2026-01-01T10:00:00Z", "2026-10-01T10:00:00Z");
  const fresh = entry("2026-11-20T10:00:00Z");
  const never = entry("2026-09-20T10:00:00Z");

  expect(unusedIn([hit, idle, fresh, never], now)).toEqual([idle, never]);
});

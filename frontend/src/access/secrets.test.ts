import { expect, it } from "vitest";
import { endOf, expiryOf, isLive } from "./secrets";

const NOW = new Date("2026-11-22T10:00:00Z");
const secret = (change: object) => ({ id: "a", name: "ci", revoked_at: null, ...change });

it("lives until it is revoked or over", () => {
  expect(isLive(secret({}), NOW)).toBe(true);
  expect(isLive(secret({ expires_at: "2026-11-22T10:00:01Z" }), NOW)).toBe(true);
  expect(endOf(secret({ expires_at: "2026-11-22T10:00:00Z" }), NOW)).toBe("2026-11-22T10:00:00Z");
  expect(
    endOf(secret({ revoked_at: "2026-11-01T00:00:00Z", expires_at: "2027-01-01T00:00:00Z" }), NOW),
  ).toBe("2026-11-01T00:00:00Z");
});

it("is over after its days, or never", () => {
  expect(expiryOf("week", NOW)).toBe("2026-11-29T10:00:00.000Z");
  expect(expiryOf("good", NOW)).toBeNull();
});

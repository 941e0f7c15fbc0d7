import { expect, it } from "vitest";
import { firstNotifiedAt } from "./answerers";

it("is the first notice of the card that left, not what withdrew it or still waits", () => {
  const told = (sent_at: string | null, what: "decision" | "withdrawal" = "decision") => ({
    what,
    sent_at,
  });

  expect(
    firstNotifiedAt([
      told("2026-11-21T14:45:00+00:00"),
      told("2026-11-21T14:39:00.5Z"),
      told("2026-11-21T14:30:00Z", "withdrawal"),
      told(null),
    ]),
  ).toBe("2026-11-21T14:39:00.5Z");
  expect(firstNotifiedAt([told(null)])).toBeNull();
});

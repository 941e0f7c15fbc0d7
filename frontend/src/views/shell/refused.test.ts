import { expect, it } from "vitest";
import { ProblemError, UnreachableError } from "../../wire/api";
import { refused } from "./refused";

it("says how long to wait where the server does", () => {
  const busy = new ProblemError(429, { detail: "Too many tries. Wait 41 s.", wait_s: 41 });

  expect(refused(busy, "away")).toBe("Too many tries in one minute. Try again in 41 s.");
});

it("says what the server said of anything else", () => {
  expect(refused(new ProblemError(409, { detail: "It is sent." }), "away")).toBe("It is sent.");
  expect(refused(new ProblemError(429, { detail: "Slow down.", wait_s: "soon" }), "away")).toBe(
    "Slow down.",
  );
  expect(refused(new UnreachableError(), "away")).toBe("away");
});

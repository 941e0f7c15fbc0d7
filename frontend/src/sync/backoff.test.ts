import { expect, it } from "vitest";
import { waitBefore } from "./backoff";

it("tries within a second at first", () => {
  expect(waitBefore(0, 0.999)).toBeLessThan(1000);
});

it("waits longer each time, but never longer than 15 s", () => {
  expect([waitBefore(1, 0), waitBefore(3, 0), waitBefore(30, 0.999)]).toEqual([500, 2000, 14993]);
});

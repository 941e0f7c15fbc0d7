import { expect, it } from "vitest";
import { waitBefore } from "./backoff";

it("tries within half a second at first", () => {
  expect([waitBefore(0, 0), waitBefore(0, 0.999)]).toEqual([50, 500]);
});

it("is back within a second of a server that restarted", () => {
  const waits = Array.from({ length: 90 }, (_, tries) => waitBefore(tries + 1, 0.999));

  expect(Math.max(...waits)).toBeLessThanOrEqual(1000);
});

it("waits longer each time after a minute, but never longer than 15 s", () => {
  expect([waitBefore(91, 0), waitBefore(93, 0), waitBefore(500, 0.999)]).toEqual([
    1000, 4000, 14993,
  ]);
});

it("spreads two hundred screens that were cut off in the same moment", () => {
  const waits = Array.from({ length: 200 }, (_, screen) => waitBefore(1, screen / 200));
  const inATenth = new Map<number, number>();
  for (const wait of waits)
    inATenth.set(Math.floor(wait / 100), (inATenth.get(Math.floor(wait / 100)) ?? 0) + 1);

  expect(Math.max(...inATenth.values())).toBeLessThanOrEqual(30);
});

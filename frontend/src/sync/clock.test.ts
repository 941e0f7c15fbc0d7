import { expect, it, vi } from "vitest";
import { clock } from "./clock.svelte";

it("goes by the server's moments, and not by what their way took", () => {
  vi.useFakeTimers({ now: new Date("2026-11-28T12:00:00Z") });
  clock.follow("2026-11-28T12:10:00Z");

  clock.follow("2026-11-28T12:09:59.400Z");

  expect(clock.read()).toEqual(new Date("2026-11-28T12:10:00Z"));
  vi.useRealTimers();
});

import { describe, expect, it } from "vitest";
import { clockTime, exactMoment, exactTime, since, span, wait } from "./time";

const NOW = new Date(2026, 10, 21, 14, 41, 30);
const at = (...parts: [number, number, number, number, number]) => new Date(...parts);

describe("clockTime", () => {
  it("says only the time today", () => {
    expect(clockTime(at(2026, 10, 21, 9, 5), NOW)).toBe("09:05");
  });

  it("names the day this week", () => {
    expect(clockTime(at(2026, 10, 20, 14, 41), NOW)).toBe("Fri 14:41");
  });

  it("names the date before, and the year when it is another", () => {
    expect(clockTime(at(2026, 10, 7, 1, 1), NOW)).toBe("7 Nov");
    expect(clockTime(at(2025, 10, 7, 1, 1), NOW)).toBe("7 Nov 2025");
  });

  it("keeps the hour of what comes after midnight", () => {
    expect(clockTime(at(2026, 10, 22, 0, 12), at(2026, 10, 21, 23, 12))).toBe("00:12");
  });

  it("names the day of what comes within a week, and the date beyond", () => {
    expect(clockTime(at(2026, 10, 23, 1, 1), NOW)).toBe("Mon 01:01");
    expect(clockTime(at(2026, 10, 30, 1, 1), NOW)).toBe("30 Nov");
  });
});

it("shows seconds in evidence", () => {
  expect(exactTime(at(2026, 10, 21, 14, 39))).toBe("14:39:00");
});

it("names the day of an exact moment that is not today", () => {
  expect(exactMoment(at(2026, 10, 21, 14, 39), NOW)).toBe("14:39:00");
  expect(exactMoment(at(2026, 10, 20, 14, 39), NOW)).toBe("Fri 14:39:00");
  expect(exactMoment(at(2026, 10, 7, 14, 39), NOW)).toBe("7 Nov 14:39:00");
});

it("counts a wait in minutes and seconds, then in hours", () => {
  expect([wait(102_000), wait(-5), wait(72 * 60_000), wait(3_600_000)]).toEqual([
    "1:42",
    "0:00",
    "1 h 12 min",
    "1 h",
  ]);
});

it("says how long something ran", () => {
  expect([span(9_000), span(24 * 60_000), span(216 * 60_000), span(52 * 3_600_000)]).toEqual([
    "9 s",
    "24 min",
    "3 h 36 min",
    "2 d 4 h",
  ]);
});

it("measures from a wire time", () => {
  expect(since(new Date(NOW.getTime() - 5000).toISOString(), NOW)).toBe(5000);
});

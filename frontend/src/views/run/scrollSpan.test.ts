import { describe, expect, it } from "vitest";
import { ScrollSpan, MAX_HEIGHT, type ScrollOffset } from "./scrollSpan";

const TOTAL = 1_000_000 * 36;
const VIEW = 600;
const listOf = ({ page, shift }: ScrollOffset) => page + shift;
const long = new ScrollSpan(TOTAL);

/** Scroll by hand, a tick at a time, until nothing moves any more; where the list then stands. */
function wheel(
  span: ScrollSpan,
  total: number,
  from: ScrollOffset,
  by: number,
  ticks: number,
): ScrollOffset {
  let stand = from;
  let [least, most] = [Infinity, 0];
  for (let tick = 0; tick < ticks; tick++) {
    const page = Math.min(Math.max(stand.page + by, 0), span.tall - VIEW);
    stand = span.scrolled(stand, page, VIEW);
    [least, most] = [Math.min(least, listOf(stand)), Math.max(most, listOf(stand))];
  }
  expect(least).toBeGreaterThanOrEqual(0);
  expect(most).toBeLessThanOrEqual(total - VIEW);
  return stand;
}

describe("ScrollSpan", () => {
  it("leaves a list alone that an element can hold", () => {
    const short = new ScrollSpan(3_600_000);

    expect([short.tall, short.listAt(123), short.pageAt(3_599_999)]).toEqual([
      3_600_000, 123, 3_599_999,
    ]);
    expect(short.scrolled({ page: 0, shift: 0 }, 3_000_000, VIEW)).toEqual({
      page: 3_000_000,
      shift: 0,
    });
  });

  it("makes a million turns as tall as an element may be", () => {
    expect(long.tall).toBe(MAX_HEIGHT);
    expect([long.listAt(0), long.listAt(MAX_HEIGHT - VIEW)]).toEqual([0, TOTAL - VIEW]);
  });

  it("has one place on the page for each row, in order, and finds the row by it", () => {
    let above = -1;
    for (let row = 0; row < 1_000_000; row += 997) {
      const page = long.pageAt(row * 36);
      expect(page).toBeGreaterThan(above);
      expect(Math.round(long.listAt(page) / 36)).toBe(row);
      above = page;
    }
  });

  it("moves pixel by pixel under the hand, wherever it stands", () => {
    for (const share of [0, 0.2, 0.5, 0.77]) {
      const start = long.standAt(share * TOTAL);
      const end = wheel(long, TOTAL, start, 120, 500);

      expect(listOf(end) - listOf(start)).toBeCloseTo(60_000, 3);
    }
  });

  it("goes on pixel by pixel when it comes to where the page is true again", () => {
    const start = long.standAt(0.5 * TOTAL);
    const end = wheel(long, TOTAL, start, 2_000, 8_000);

    expect(listOf(end) - listOf(start)).toBeCloseTo(16_000_000, 0);
  });

  it("reaches the first and the last row by hand", () => {
    const middle = long.standAt(0.5 * TOTAL);

    expect(listOf(wheel(long, TOTAL, middle, -2_000, 10_000))).toBe(0);
    expect(listOf(wheel(long, TOTAL, middle, 2_000, 10_000))).toBe(TOTAL - VIEW);
  });

  it("follows a leap of the scroll bar", () => {
    const leapt = long.scrolled({ page: 0, shift: 0 }, MAX_HEIGHT / 2, VIEW);

    expect(listOf(leapt)).toBeCloseTo(TOTAL / 2, 0);
    expect(leapt.page).toBe(MAX_HEIGHT / 2);
  });

  it("lets a page pull the list down below its top", () => {
    expect(long.scrolled({ page: 10, shift: 0 }, -400, VIEW)).toEqual({ page: -400, shift: 0 });
  });

  it("is near what it should be a little above the limit", () => {
    const total = MAX_HEIGHT + 1_000;
    const slight = new ScrollSpan(total);

    expect(listOf(wheel(slight, total, { page: 0, shift: 0 }, 2_300, 4_000))).toBe(total - VIEW);
    expect(listOf(wheel(slight, total, slight.standAt(total - VIEW), -2_300, 4_000))).toBe(0);
  });
});

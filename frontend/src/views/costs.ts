/** Sums over model calls, and the days they are asked for. Pure. */
import type { CostRow } from "../wire/types";

export type Range = "day" | "week" | "month";
export const RANGES = [["day", "Day"], ["week", "Week"], ["month", "Month"]] as const;
const DAYS: Record<Range, number> = { day: 1, week: 7, month: 30 };
const DAY_MS = 24 * 3600 * 1000;

export interface Sum {
  total: number;
  agents: number;
  judge: number;
  calls: number;
  unpriced: number;
}

export function sumOf(rows: readonly CostRow[]): Sum {
  const add = (of: (row: CostRow) => number) => rows.reduce((sum, row) => sum + of(row), 0);
  const agents = add((row) => Number(row.cost_usd));
  const judge = add((row) => Number(row.judge_cost_usd));
  const calls = add((row) => row.calls + row.judge_calls);
  return { total: agents + judge, agents, judge, calls, unpriced: add((row) => row.unpriced_calls) };
}

/** The range that ends now, as whole days of a time zone, and the one as long before it. */
export function spanOf(range: Range, now: Date, zone: string): { since: Date; before: Date; until: Date } {
  const today = midnight(now, zone);
  const since = midnight(new Date(today.getTime() - (DAYS[range] - 1) * DAY_MS + DAY_MS / 2), zone);
  const before = new Date(since.getTime() - (range === "month" ? 30 : 7) * DAY_MS);
  return { since, before, until: new Date(before.getTime() + (now.getTime() - since.getTime())) };
}

/** When the day began that this moment belongs to, where the zone's clocks say so. */
export function midnight(at: Date, zone: string): Date {
  const date = dateIn(at, zone);
  // Clocks may be put forward or back on that day: look at it twice.
  const guess = new Date(at.getTime() - sinceMidnight(at, zone));
  const off = dateIn(guess, zone) === date ? sinceMidnight(guess, zone) : sinceMidnight(guess, zone) - DAY_MS;
  return new Date(guess.getTime() - off);
}

/** `2026-11-21`, as the zone's calendar has it. */
export function dateIn(at: Date, zone: string): string {
  return new Intl.DateTimeFormat("en-CA", { timeZone: zone, dateStyle: "short" }).format(at);
}

/** `+12 %` on what was spent by then in the time before; "" where nothing was. */
export function changeWords(total: number, before: number): string {
  if (before < 0.005) return "";
  const change = Math.round((100 * (total - before)) / before);
  return change === 0 ? "as much" : `${change > 0 ? "+" : "\u2212"}${String(Math.abs(change))}%`;
}

/** One bar a day up to today, the days without a call too. */
export function dailyBars(rows: readonly CostRow[], now: Date, zone: string, days = 14): { day: string; cost: number }[] {
  const spent = new Map<string, number>();
  for (const row of rows) {
    spent.set(row.key, (spent.get(row.key) ?? 0) + Number(row.cost_usd) + Number(row.judge_cost_usd));
  }
  const noon = midnight(now, zone).getTime() + DAY_MS / 2;
  return Array.from({ length: days }, (_, place) => {
    const day = dateIn(new Date(noon - (days - 1 - place) * DAY_MS), zone);
    return { day, cost: spent.get(day) ?? 0 };
  });
}

function sinceMidnight(at: Date, zone: string): number {
  const text = new Intl.DateTimeFormat("en-GB", { timeZone: zone, timeStyle: "medium" }).format(at);
  const [hours = 0, minutes = 0, seconds = 0] = text.split(":").map(Number);
  return ((hours * 60 + minutes) * 60 + seconds) * 1000 + at.getMilliseconds();
}

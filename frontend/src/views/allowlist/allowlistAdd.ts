import type { AllowlistPreview } from "../../wire/types";

/** How long an entry holds; `never` ends when somebody removes it. */
export const LIVES = ["never", "day", "week", "month"] as const;
export type Life = (typeof LIVES)[number];
const DAYS: Record<Life, number> = { never: 0, day: 1, week: 7, month: 30 };

/** When an entry made now is over; null: never. */
export function endOf(life: Life, now: Date): string | null {
  const days = DAYS[life];
  return days ? new Date(now.getTime() + days * 86_400_000).toISOString() : null;
}

/** A star makes it a pattern of many calls; without one it is that call and no other. */
export function matchOf(pattern: string): "exact" | "glob" {
  return pattern.includes("*") ? "glob" : "exact";
}

/** What is sent: in a pattern only the star means anything, as the screen says. */
export function literal(pattern: string): string {
  if (matchOf(pattern) === "exact") return pattern;
  return pattern.replaceAll(/[[?]/g, "[$&]");
}

/** How many days back a preview looked. */
export function daysOf(found: AllowlistPreview, now: Date): number {
  return Math.round((now.getTime() - Date.parse(found.since)) / 86_400_000);
}

import type { AllowlistPreview } from "../../wire/types";

/** When an entry expires; `never` lasts until somebody removes it. */
export const LIFETIMES = ["never", "day", "week", "month"] as const;
export type Lifetime = (typeof LIFETIMES)[number];
const DAYS: Record<Lifetime, number> = { never: 0, day: 1, week: 7, month: 30 };

/** Return when an entry made now expires; null: never. */
export function endOf(life: Lifetime, now: Date): string | null {
  const days = DAYS[life];
  return days ? new Date(now.getTime() + days * 86_400_000).toISOString() : null;
}

/** A star makes it a pattern for many calls; without one it matches exactly that call. */
export function matchOf(pattern: string): "exact" | "glob" {
  return pattern.includes("*") ? "glob" : "exact";
}

/** Return the pattern to send: only the star is special, as the screen says. */
export function literal(pattern: string): string {
  if (matchOf(pattern) === "exact") return pattern;
  return pattern.replaceAll(/[[?]/g, "[$&]");
}

/** Return how many days back a preview looked. */
export function daysOf(found: AllowlistPreview, now: Date): number {
  return Math.round((now.getTime() - Date.parse(found.since)) / 86_400_000);
}

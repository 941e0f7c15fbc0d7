/** How long an invitation's link works. Pure. */
export const LIFETIMES = ["day", "week", "month"] as const;
export type Lifetime = (typeof LIFETIMES)[number];

const DAYS: Record<Lifetime, number> = { day: 1, week: 7, month: 30 };
/** This clock may be ahead of the server's, which accepts a month at most. */
const SPARE_MS = 60_000;

/** Days that the texts of turns are kept, asked before the first person is invited. */
export const KEPT_DAYS = ["30", "90", "0"] as const;
export type KeptDays = (typeof KEPT_DAYS)[number];

/** Return when a link made now expires, in RFC 3339. */
export function endsAfter(life: Lifetime, now: Date): string {
  return new Date(now.getTime() + DAYS[life] * 86_400_000 - SPARE_MS).toISOString();
}

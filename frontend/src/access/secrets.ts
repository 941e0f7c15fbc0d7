/** Keys and tokens as the page lists them: active ones first. Pure. */

export interface Secret {
  id: string;
  name: string;
  revoked_at: string | null;
  expires_at?: string | null;
}

/** Return a secret as it is listed: only its first characters. */
export interface ListedSecret extends Secret {
  prefix: string;
  created_at: string;
  last_used_at: string | null;
  last_used_from: string | null;
  created_by?: string;
}

/** Which runs of its project an agent key gives access to. */
export type KeyScope = "own" | "agent" | "project";

export const KEY_SCOPES: readonly KeyScope[] = ["own", "agent", "project"];

export type Lifetime = "week" | "month" | "year" | "good";

export const LIFETIMES: readonly Lifetime[] = ["week", "month", "year", "good"];
const DAYS: Record<Lifetime, number | null> = { week: 7, month: 30, year: 365, good: null };

/** How many hours an old key still works after its replacement was made. */
export const OVERLAPS = ["0", "24", "168"] as const;
export type Overlap = (typeof OVERLAPS)[number];

/** Return when a secret stopped working; null: it works. */
export function endOf(secret: Secret, now: Date): string | null {
  if (secret.revoked_at !== null) return secret.revoked_at;
  const until = secret.expires_at ?? null;
  return until !== null && new Date(until) <= now ? until : null;
}

export function isLive(secret: Secret, now: Date): boolean {
  return endOf(secret, now) === null;
}

/** Return when a token made now expires; null: never. */
export function expiryOf(life: Lifetime, now: Date): string | null {
  const days = DAYS[life];
  return days === null ? null : new Date(now.getTime() + days * 86_400_000).toISOString();
}

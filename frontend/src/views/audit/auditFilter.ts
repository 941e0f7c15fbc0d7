/** The filters of the journal, as in the address. Pure. */
import { query } from "../../wire/api";
import { VIEWS } from "./audit";

export const TIMES = ["any", "day", "week", "month"] as const;
export type Time = (typeof TIMES)[number];
const HOURS: Record<Time, number | null> = { any: null, day: 24, week: 7 * 24, month: 30 * 24 };

export interface AuditFilter {
  view: (typeof VIEWS)[number][0];
  by: string;
  run: string;
  when: Time;
}

export function filterOf(search: URLSearchParams): AuditFilter {
  return {
    view: VIEWS.find(([id]) => id === search.get("view"))?.[0] ?? "actions",
    by: search.get("by") ?? "",
    run: search.get("run") ?? "",
    when: TIMES.find((time) => time === search.get("when")) ?? "any",
  };
}

/** Return the address of the page with this filter, without empty parts. */
export function auditPath({ view, by, run, when }: AuditFilter): string {
  return `/audit${query({ view: view === "actions" ? "" : view, by, run, when: when === "any" ? "" : when })}`;
}

/** Return the filter as a query for the server. */
export function asked(
  { view, by, run, when }: AuditFilter,
  project: string | undefined,
  now: Date,
): string {
  const hours = HOURS[when];
  const since = hours === null ? "" : new Date(now.getTime() - hours * 3_600_000).toISOString();
  return query({ project, type: VIEWS.find(([id]) => id === view)?.[1], by, run, since });
}

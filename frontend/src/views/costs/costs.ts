/** What the Costs screen requests, and how an account is drawn. Pure. */
import type { CostAccount, CostDay, CostGroup } from "../../wire/types";
import type { Line, Tag } from "../../ui/chart";

export type Range = CostAccount["range"];
export type Group = CostAccount["group_by"];
export const RANGES: readonly Range[] = ["day", "week", "month"];
export const GROUPS: readonly Group[] = ["agent", "model", "project", "run"];
const COLORS = ["--d1", "--d2", "--d3", "--d4", "--d5"] as const;
export type Color = (typeof COLORS)[number];
/** Before this, it is too early for a projection. */
const EARLY_MINUTES = 60;

/** The values in the address; without a day, today. */
export interface CostQuery {
  range: Range;
  group: Group;
  day: string;
  agent: string;
  model: string;
}

export function costQueryOf(search: URLSearchParams): CostQuery {
  const one = <T extends string>(name: string, known: readonly T[], first: T) =>
    known.find((word) => word === search.get(name)) ?? first;
  return {
    range: one("range", RANGES, "day"),
    group: one("by", GROUPS, "agent"),
    day: search.get("day") ?? "",
    agent: search.get("agent") ?? "",
    model: search.get("model") ?? "",
  };
}

/** Return the values for the address, without defaults. */
export function addressOf({ range, group, day, agent, model }: CostQuery): Record<string, string> {
  return {
    range: range === "day" ? "" : range,
    by: group === "agent" ? "" : group,
    day,
    agent,
    model,
  };
}

/** Return the query for the server. */
export function questionOf(
  { range, group, day, agent, model }: CostQuery,
  project: string | undefined,
): Record<string, string | undefined> {
  return { range, group_by: group, day, agent, model, project };
}

/** Return local noon of a calendar day, `shift` days later. */
export function noonOf(day: string, shift = 0): Date {
  const [year = 1970, month = 1, date = 1] = day.split("-").map(Number);
  return new Date(year, month - 1, date + shift, 12);
}

export function dayOf(noon: Date): string {
  const two = (n: number) => String(n).padStart(2, "0");
  return `${String(noon.getFullYear())}-${two(noon.getMonth() + 1)}-${two(noon.getDate())}`;
}

/** Return a day of the previous or next period. */
export function stepFrom(account: CostAccount, step: -1 | 1): string {
  return dayOf(step < 0 ? noonOf(account.first_day, -1) : noonOf(account.last_day, 1));
}

/** Return the projected total; null: too early, nothing spent, or the period has ended. */
export function paceOf({ spent, minute, minutes, over }: CostAccount): number | null {
  const total = Number(spent.total_usd);
  return over || minute < EARLY_MINUTES || total === 0 ? null : (total * minutes) / minute;
}

/** Return the relative change; null: nothing was spent before. */
export function changeOf(total: number, before: number): number | null {
  return before < 0.005 ? null : (total - before) / before;
}

export const totalOf = (row: CostGroup): number =>
  Number(row.cost_usd) + Number(row.judge_cost_usd);

/** Whether none of its calls has a price; its cost is then a word, never $0. */
export const isUnpriced = (row: CostGroup): boolean => totalOf(row) === 0 && row.unpriced_calls > 0;

/** Return each agent's colour: the four most expensive in 14 days have their own. */
export function colorsOf(days: readonly CostDay[]): Map<string, Color> {
  const sums = new Map<string, number>();
  for (const { agents } of days)
    for (const [agent, usd] of Object.entries(agents))
      sums.set(agent, (sums.get(agent) ?? 0) + Number(usd));
  const ranked = [...sums].filter(([, usd]) => usd > 0).sort((a, b) => b[1] - a[1]);
  return new Map(
    ranked.map(([agent], place) => [agent, COLORS[Math.min(place, COLORS.length - 1)] ?? "--d5"]),
  );
}

/** Return one series of bars per colour: agents that share a colour share a series. */
export function barLines(
  days: readonly CostDay[],
  colors: Map<string, Color>,
  named: (agents: string[]) => string,
): Line[] {
  const last = days.length - 1;
  return COLORS.flatMap((color) => {
    const agents = [...colors].filter(([, mine]) => mine === color).map(([agent]) => agent);
    if (agents.length === 0) return [];
    const values = days.map((day) =>
      agents.reduce((sum, agent) => sum + Number(day.agents[agent] ?? 0), 0),
    );
    return [{ label: named(agents), values, color, shape: "bars" as const, strong: last }];
  });
}

export interface PaceWords {
  now: string;
  before: string;
  at: (usd: number) => string;
  pace: (usd: number) => string;
}

/** Return the lines of this period so far, of the previous one, and of the projection. */
export function paceLines(
  account: CostAccount,
  words: PaceWords,
): { x: number[]; lines: Line[]; tags: Tag[] } {
  const x = account.points.map(({ minute }) => minute);
  const spent = account.points.map(({ spent_usd }) =>
    spent_usd === null ? null : Number(spent_usd),
  );
  const before = account.points.map(({ before_usd }) => Number(before_usd));
  const lines: Line[] = [
    { label: words.before, values: before, color: "--ink-3", width: 1.25 },
    { label: words.now, values: spent, color: "--d1", filled: true },
  ];
  const pace = paceOf(account);
  const total = Number(account.spent.total_usd);
  if (account.over) return { x, lines, tags: [] };
  // The area above and left of a growing total is empty: its label is there if it fits.
  const hasRoomLeft = account.minute > account.minutes * 0.3;
  // Late in the period, the label of the projection would overlap.
  const isLate = account.minute > account.minutes * 0.7;
  const tags: Tag[] = [
    {
      x: account.minute,
      y: total,
      words: words.at(total),
      dot: true,
      strong: true,
      align: hasRoomLeft ? "right" : "left",
    },
  ];
  if (pace !== null) {
    const way = x.map((minute) =>
      minute < account.minute
        ? null
        : total +
          ((pace - total) * (minute - account.minute)) /
            Math.max(1, account.minutes - account.minute),
    );
    lines.push({
      label: words.pace(pace),
      values: way,
      color: "--d1",
      width: 1.75,
      dash: [2, 4],
      unlisted: true,
    });
    if (!isLate)
      tags.push({ x: account.minutes, y: pace, words: words.pace(pace), align: "right" });
  }
  return { x, lines, tags };
}

/** Return the points of a polyline through the values, scaled from 0 to `max`. */
export function sparkOf(
  values: readonly number[],
  max: number,
  width: number,
  height: number,
): string {
  const step = width / Math.max(1, values.length - 1);
  return values
    .map(
      (value, place) =>
        `${(place * step).toFixed(1)},${(height - 2 - ((height - 4) * value) / max).toFixed(1)}`,
    )
    .join(" ");
}

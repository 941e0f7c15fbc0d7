/** An account's dates and amounts as text. */
import { money, roundMoney, share } from "../../format/numbers";
import { drawn } from "../../format/time";
import { costs as t } from "../../messages/texts";
import type { CostAccount, CostGroup, ReportRow, Saving } from "../../wire/types";
import { agentName } from "../../format/words";
import { changeOf, isUnpriced, noonOf, totalOf } from "./costs";

const MIDNIGHT = "00:00";

export const dateOf = (day: string): string =>
  drawn(noonOf(day), { weekday: "long", day: "numeric", month: "long" });
export const shortDate = (day: string): string =>
  drawn(noonOf(day), { weekday: "short", day: "numeric", month: "short" });
export const dayNumber = (day: string): string => String(noonOf(day).getDate());

/** "Saturday 21 November", "16 to 22 November", "November 2026". */
export function spanWords({ range, first_day, last_day }: CostAccount): string {
  if (range === "day") return dateOf(first_day).replace(",", "");
  if (range === "month") return drawn(noonOf(first_day), { month: "long", year: "numeric" });
  return `${drawn(noonOf(first_day), { day: "numeric", month: "short" })} – ${drawn(noonOf(last_day), { day: "numeric", month: "short", year: "numeric" })}`;
}

/** Return the labelled minutes of the x axis: quarters of a day by the clock, days, or weeks. */
export function ticksOf(account: CostAccount): number[] {
  const { range, minutes } = account;
  if (range === "day")
    return [0, 6, 12, 18, 24].map((hour) => (hour === 0 ? 0 : hour * 60 + minutes - 1440));
  const days = Math.round(minutes / 1440);
  // Later days begin earlier or later by this, if the clocks change.
  const change = minutes - days * 1440;
  return (
    Array.from({ length: days }, (_, day) => day * 1440)
      .filter((_, day) => range === "week" || day % 7 === 0)
      // If clocks go forward at midnight, that day has no midnight.
      .map((at) => [at, at + change].find((one) => clockAt(account, one) === MIDNIGHT) ?? at)
  );
}

function momentOf({ since }: CostAccount, minute: number): Date {
  return new Date(new Date(since).getTime() + minute * 60_000);
}

/** Return the local time of a minute of the account. */
export function clockAt(account: CostAccount, minute: number): string {
  return drawn(momentOf(account, minute), {
    hour: "2-digit",
    minute: "2-digit",
    timeZone: account.time_zone || undefined,
  });
}

export function xWords(account: CostAccount, minute: number): string {
  const zone = account.time_zone || undefined;
  const at = momentOf(account, minute);
  if (account.range === "day")
    return minute >= account.minutes ? "24:00" : clockAt(account, minute);
  const day = drawn(
    at,
    account.range === "week"
      ? { weekday: "short", timeZone: zone }
      : { day: "numeric", month: "short", timeZone: zone },
  );
  const clock = clockAt(account, minute);
  return clock === MIDNIGHT ? day : `${day} ${clock}`;
}

/** A label of the axis: "06" for hours, otherwise the day. */
export const tickWords = (account: CostAccount, minute: number): string =>
  account.range === "day" ? xWords(account, minute).slice(0, 2) : xWords(account, minute);

/** Return what the period is compared with: "Last Saturday", "The week before". */
export function beforeName({ range, before_day, over }: CostAccount): string {
  if (range !== "day") return t.before[range];
  if (over) return t.before.dayOf(shortDate(before_day).replace(",", ""));
  return t.before.day(drawn(noonOf(before_day), { weekday: "long" }));
}

/** `+12%`, or with a minus sign, or "as much"; "": nothing spent before, or nothing priced. */
export function changeWords(total: number, before: number, unpricedCalls: number): string {
  if (total === 0 && unpricedCalls > 0) return "";
  const change = changeOf(total, before);
  if (change === null) return "";
  const whole = Math.round(change * 100);
  if (whole === 0) return t.same;
  return `${whole > 0 ? "+" : "\u2212"}${share(Math.abs(whole) / 100)}`;
}

/** Whether it rose by more than a quarter, which is highlighted. */
export const isSteep = (total: number, before: number): boolean =>
  (changeOf(total, before) ?? 0) > 0.25;

export function savedWords(saved: Saving): string {
  if (saved.stops === 0) return "—";
  return saved.likely_usd === null ? t.noEstimate : `≈ ${money(saved.likely_usd)}`;
}

export const costWords = (row: CostGroup): string =>
  isUnpriced(row) ? t.unpricedWord : money(totalOf(row));

export function nameOf(row: CostGroup, group: CostAccount["group_by"]): string {
  if (group === "agent") return agentName(row.name) || t.table.noAgent;
  return row.name || (group === "model" ? t.table.noModel : row.key);
}

/** Return an amount, or a word if all calls are unpriced; never $0. */
export const usdWords = (usd: string | number, unpricedCalls: number): string =>
  Number(usd) === 0 && unpricedCalls > 0 ? t.unpricedWord : money(usd);
export const spentWords = ({ total_usd, unpriced_calls }: ReportRow["spent"]): string =>
  usdWords(total_usd, unpriced_calls);

export const budgetWords = (usd: string): string => roundMoney(usd);

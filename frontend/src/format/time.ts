/** Times, waits and ages, in the viewer's time zone and 24-hour format. */
import { speech } from "../messages/speech.svelte";

const HALF_DAY_MS = 12 * 3600 * 1000;
const WEEK_MS = 12 * HALF_DAY_MS;
const formats = new Map<string, Intl.DateTimeFormat>();

/** `14:41` today or shortly after midnight, `Fri 14:41` within a week, otherwise `14 Nov`. */
export function clockTime(at: string | Date, now: Date): string {
  const time = new Date(at);
  const age = now.getTime() - time.getTime();
  const isSoon = age < 0 && age > -HALF_DAY_MS;
  if (isSoon || time.toDateString() === now.toDateString()) return hourMinute(time);
  if (Math.abs(age) < WEEK_MS) return `${drawn(time, { weekday: "short" })} ${hourMinute(time)}`;
  const year = time.getFullYear() === now.getFullYear() ? undefined : "numeric";
  return drawn(time, { day: "numeric", month: "short", year });
}

/** With seconds, for evidence and audit only. */
export function exactTime(at: string | Date): string {
  const time = new Date(at);
  return `${hourMinute(time)}:${two(time.getSeconds())}`;
}

/** With the day if it is not today: `14:39:18`, `Fri 14:39:18`, `14 Nov 14:39:18`. */
export function exactMoment(at: string | Date, now: Date): string {
  const day = clockTime(at, now).replace(/\s?\d\d:\d\d$/, "");
  return day === "" ? exactTime(at) : `${day} ${exactTime(at)}`;
}

/** How long something has waited: `1:42`, from one hour on `1 h 12 min`. */
export function wait(ms: number): string {
  const seconds = Math.max(0, Math.floor(ms / 1000));
  const minutes = Math.floor(seconds / 60);
  if (minutes < 60) return `${String(minutes)}:${two(seconds % 60)}`;
  return hours(minutes);
}

/** A duration or remaining time: `9 s`, `24 min`, `3 h 36 min`, `2 d 4 h`. */
export function span(ms: number): string {
  const seconds = Math.max(0, Math.floor(ms / 1000));
  if (seconds < 60) return `${String(seconds)} s`;
  const minutes = Math.floor(seconds / 60);
  return minutes < 60 ? `${String(minutes)} min` : hours(minutes);
}

export function since(at: string | Date, now: Date): number {
  return now.getTime() - new Date(at).getTime();
}

/** A part of a date in the selected language; formats are cached by their options. */
export function drawn(time: Date, options: Intl.DateTimeFormatOptions): string {
  const key = speech.dates + JSON.stringify(options);
  const known = formats.get(key) ?? new Intl.DateTimeFormat(speech.dates, options);
  formats.set(key, known);
  return known.format(time);
}

/** Units are the same in both languages: d is the day, as in SI. */
function hours(minutes: number): string {
  const h = Math.floor(minutes / 60);
  if (h >= 24) return join(Math.floor(h / 24), "d", h % 24, "h");
  return join(h, "h", minutes % 60, "min");
}

function join(big: number, bigUnit: string, small: number, smallUnit: string): string {
  const rest = small === 0 ? "" : ` ${String(small)} ${smallUnit}`;
  return `${String(big)} ${bigUnit}${rest}`;
}

function hourMinute(time: Date): string {
  return `${two(time.getHours())}:${two(time.getMinutes())}`;
}

function two(n: number): string {
  return String(n).padStart(2, "0");
}

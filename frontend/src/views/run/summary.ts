/** What a run did, as statements, each with the turn that shows it. Pure. */
import { money, whole } from "../../format/numbers";
import { clockTime, since } from "../../format/time";
import { summary as t, words } from "../../messages/texts";
import type { RunSummary, Work } from "../../wire/types";

export interface Claim {
  text: string;
  /** The turn that shows it; null: no single turn does. */
  seq: number | null;
  tone?: "bad";
}
export type Row = readonly [name: string, claims: readonly Claim[]];

const MAX_KINDS = 4;
const MAX_FILES = 3;
/** A turn may take this long: if the last turn is more recent, its hour is "the last hour". */
const RECENT_MS = 10 * 60_000;

/**
 * @param status the state of the run, in words, and the turn it is based on
 * @param until the time of its last turn; if long ago, its hour is not called "the last hour"
 */
export function summaryRows(
  summary: RunSummary,
  status: Claim,
  until: string | null,
  now: Date,
): Row[] {
  const { asked, last_asked: last, whole: all } = summary;
  const { last_hour: hour, last_ten_minutes: minutes } = summary;
  const parts = [
    ...(asked ? [{ text: asked.text, seq: asked.seq }] : []),
    ...(last ? [{ text: t.then(last.text), seq: last.seq }] : []),
  ];
  const rows: Row[] = [[t.rows.status, [status]]];
  if (parts.length > 0) rows.push([t.rows.asked, parts]);
  if (all) rows.push([t.rows.whole, workClaims(all)]);
  const past = until !== null && since(until, now) > RECENT_MS ? clockTime(until, now) : null;
  if (hour) rows.push([past ? t.hourTo(past) : t.rows.hour, workClaims(hour)]);
  if (minutes) rows.push([past ? t.minutesTo(past) : t.rows.minutes, workClaims(minutes)]);
  return rows;
}

/** Return the rows that a run will have, before their content has been fetched. */
export function rowsBefore(status: Claim, goal: string, turns: number): Row[] {
  return [
    [t.rows.status, [status]],
    ...(goal ? [[t.rows.asked, [{ text: goal, seq: null }]] as const] : []),
    ...(turns > 0 ? [[t.rows.whole, []] as const] : []),
  ];
}

/** Return why a paused run waits, and until when. */
export function pauseWords(
  { by, since, until, unanswered }: NonNullable<RunSummary["paused"]>,
  now: Date,
  nameOf: (by: string) => string,
): string {
  const why = t.paused(nameOf(by), clockTime(since, now));
  if (until === null) return why;
  const { stopsAt, goesOnAt } = words.byItself;
  return `${why}; ${(unanswered === "stop" ? stopsAt : goesOnAt)(clockTime(until, now))}`;
}

export function workClaims(work: Work): Claim[] {
  const details = work.details_from_seq > work.from_seq;
  return [
    ...callClaims(work),
    ...fileClaims(work),
    ...testClaims(work),
    ...commitClaims(work),
    ...(Number(work.cost_usd) > 0 ? [{ text: t.spent(money(work.cost_usd)), seq: null }] : []),
    ...(details
      ? [
          {
            text: t.lately(whole(work.to_seq - work.details_from_seq + 1)),
            seq: work.details_from_seq,
          },
        ]
      : []),
  ];
}

function callClaims({ calls }: Work): Claim[] {
  const sum = calls.reduce((all, { count }) => all + count, 0);
  if (sum === 0) return [{ text: t.none, seq: null }];
  const failed = calls.reduce((all, one) => all + one.failed, 0);
  const kinds = calls.slice(0, MAX_KINDS).map(({ kind, count, last_seq }) => ({
    // They are "other" calls only beside calls of a known kind.
    text: kind === "other" && calls.length === 1 ? t.calls(count) : kindWords(kind, count),
    seq: last_seq,
  }));
  const all = calls.length > 1 ? [{ text: t.calls(sum), seq: null }] : [];
  return [...all, ...kinds, ...(failed > 0 ? [{ text: t.failed(whole(failed)), seq: null }] : [])];
}

function kindWords(kind: string, count: number): string {
  const known = Object.entries(t.kinds).find(([name]) => name === kind);
  return known ? known[1](count) : t.kind(whole(count), kind);
}

function fileClaims({ files, file_count: n }: Work): Claim[] {
  if (n === 0) return [];
  const named = files.slice(0, MAX_FILES).map(({ path, times, last_seq }) => ({
    text: times > 1 ? t.file(shortPath(path), whole(times)) : shortPath(path),
    seq: last_seq,
  }));
  const more = n > named.length ? [{ text: t.moreFiles(whole(n - named.length)), seq: null }] : [];
  return [{ text: t.files(n), seq: null }, ...named, ...more];
}

/** Return the last two parts, which distinguish most files of a project. */
function shortPath(path: string): string {
  return path.split("/").slice(-2).join("/");
}

function testClaims({ tests }: Work): Claim[] {
  if (!tests) return [];
  if (!tests.last_failed) return [{ text: t.passed, seq: tests.last_seq }];
  const before = tests.last_passed_seq;
  return [
    { text: t.failedTests(tests.failures ?? 0), seq: tests.last_seq, tone: "bad" },
    ...(before === null ? [] : [{ text: t.lastPassed, seq: before }]),
  ];
}

function commitClaims({ commits, commit_count: n }: Work): Claim[] {
  if (n === 0) return [];
  const [last] = commits;
  const named = last ? [{ text: last.text || last.hash || t.untitled, seq: last.seq }] : [];
  return [{ text: t.commits(n), seq: null }, ...named];
}

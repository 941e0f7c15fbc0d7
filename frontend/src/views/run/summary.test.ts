import { describe, expect, it } from "vitest";
import type { RunSummary, Work } from "../../wire/types";
import { pauseWords, rowsBefore, summaryRows, workClaims } from "./summary";

const work: Work = {
  from_seq: 0,
  to_seq: 9,
  since: "2026-11-21T12:00:00Z",
  calls: [],
  cost_usd: "0",
  details_from_seq: 0,
  files: [],
  file_count: 0,
  tests: null,
  commits: [],
  commit_count: 0,
};
const call = (kind: string, count: number, failed = 0, last_seq = 1) => ({
  kind,
  count,
  failed,
  last_seq,
});
const texts = (change: Partial<Work>) => workClaims({ ...work, ...change }).map(({ text }) => text);
const tests = {
  runs: 3,
  failed: 1,
  last_seq: 8,
  last_failed: false,
  failures: 0,
  last_passed_seq: 8,
};

describe("what a stretch did", () => {
  it("says so when nothing ran", () => {
    expect(texts({})).toEqual(["no calls"]);
  });

  it("counts calls by kind, names unknown kinds, and says how many failed", () => {
    const calls = [call("read", 2), call("test_run", 1, 1), call("deploy", 3)];

    expect(texts({ calls })).toEqual([
      "6 calls",
      "2 reads",
      "1 test run",
      "3 × deploy",
      "1 failed",
    ]);
  });

  it("leads from each kind to its last turn", () => {
    expect(workClaims({ ...work, calls: [call("read", 2, 0, 7)] })).toEqual([
      { text: "2 reads", seq: 7 },
    ]);
  });

  it("says other calls beside those of a kind, and calls where there is no other", () => {
    expect(texts({ calls: [call("other", 3)] })).toEqual(["3 calls"]);
    expect(texts({ calls: [call("other", 3), call("read", 1)] })).toContain("3 other calls");
  });

  it("names the latest files by their end, and counts the others", () => {
    const files = ["a/b/c.py", "d.py", "e.py"].map((path, i) => ({
      path,
      times: i + 1,
      last_seq: 5,
    }));

    expect(texts({ calls: [call("read", 1)], files, file_count: 5 })).toEqual([
      "1 read",
      "5 files changed",
      "b/c.py",
      "d.py ×2",
      "e.py ×3",
      "and 2 more",
    ]);
  });

  it.each([
    [tests, ["the last tests passed"]],
    [
      { ...tests, last_failed: true, failures: 2, last_passed_seq: 4 },
      ["the last tests failed: 2 failures", "passed before"],
    ],
    [
      { ...tests, last_failed: true, failures: null, last_passed_seq: null },
      ["the last tests failed"],
    ],
  ])("tells how the last tests ended", (tests, said) => {
    expect(texts({ tests }).slice(1)).toEqual(said);
  });

  it("names the last commit, by its hash where it has no text", () => {
    const commits = [{ seq: 6, text: "", hash: "1f2e3d4" }];

    expect(texts({ commits, commit_count: 3 }).slice(1)).toEqual(["3 commits", "1f2e3d4"]);
  });

  it("tells the cost, and from where on a long run is told in detail", () => {
    expect(texts({ cost_usd: "3.1", details_from_seq: 5 }).slice(1)).toEqual([
      "$3.10 spent",
      "files, tests and commits of the last 5 turns",
    ]);
  });
});

it("has a row for how it stands, what was asked, and each stretch there is", () => {
  const told: RunSummary = {
    run: "r",
    asked: { text: "Fix it", seq: 0 },
    last_asked: { text: "and test", seq: 4 },
    whole: work,
    last_hour: null,
    last_ten_minutes: work,
    why: {
      kind: "",
      summary: "",
      resolution: null,
      by: null,
      message: null,
      recovered: null,
      turns_after: null,
      turn: null,
    },
    paused: null,
  };

  const at = new Date(2026, 10, 21, 14, 0);

  expect(summaryRows(told, { text: "Running", seq: 3 }, at.toISOString(), at)).toEqual([
    ["Status", [{ text: "Running", seq: 3 }]],
    [
      "Asked",
      [
        { text: "Fix it", seq: 0 },
        { text: "then: and test", seq: 4 },
      ],
    ],
    ["In all", [{ text: "no calls", seq: null }]],
    ["Last 10 min", [{ text: "no calls", seq: null }]],
  ]);
});

it("says to when the last hour was, once that is a while ago", () => {
  const told: RunSummary = {
    run: "r",
    asked: null,
    last_asked: null,
    whole: null,
    last_hour: work,
    last_ten_minutes: null,
    why: {
      kind: "",
      summary: "",
      resolution: null,
      by: null,
      message: null,
      recovered: null,
      turns_after: null,
      turn: null,
    },
    paused: null,
  };
  const [last, soon, later] = [0, 9, 95].map((minutes) => new Date(2026, 10, 21, 14, minutes));
  const named = (now = last): string | undefined =>
    summaryRows(told, { text: "Idle", seq: 3 }, last?.toISOString() ?? null, now ?? new Date()).at(
      -1,
    )?.[0];

  expect([named(soon), named(later)]).toEqual(["Last hour", "Hour to 14:00"]);
});

it("has the rows that are to come before what is in them has", () => {
  const status = { text: "Running", seq: null };
  const names = (goal: string, turns: number) =>
    rowsBefore(status, goal, turns).map(([name]) => name);

  expect(names("", 0)).toEqual(["Status"]);
  expect(names("Ship it", 3)).toEqual(["Status", "Asked", "In all"]);
});

it("says who paused the run, since when, and what ends that when nobody answers", () => {
  const paused = {
    by: "Ana",
    since: "2026-11-21T12:00:00",
    until: "2026-11-21T13:00:00",
    unanswered: "stop" as const,
  };
  const now = new Date("2026-11-21T12:10:00");
  const words = (change: object) => pauseWords({ ...paused, ...change }, now, (by) => by);

  expect(words({})).toBe("Ana paused it at 12:00; stops automatically at 13:00");
  expect(words({ unanswered: "proceed" })).toContain("continues automatically at 13:00");
  expect(words({ until: null })).toBe("Ana paused it at 12:00");
});

import { expect, test } from "vitest";
import type { ProjectRow } from "../wire/types";
import { draftOf, patchOf } from "./settings";

function project(change: Partial<ProjectRow> = {}): ProjectRow {
  return {
    id: "p", name: "payments", role: "owner", mode: "pause", policy: {}, policy_version: 1, budget: {},
    budgets: { day: { usd: "60" }, run: { usd: "5", calls: 200 } }, day_extra: {}, time_zone: "Europe/Berlin",
    hold_limit: 3600, unanswered: "stop", fail: "open", agents_choose: true, daily_report: true, ...change,
  };
}

test("what is not touched is not sent", () => {
  expect(patchOf(project(), draftOf(project()))).toEqual({});
});

test("a ceiling that moves keeps its neighbours", () => {
  const draft = draftOf(project());
  draft.ceilings["run.usd"] = "7.50";

  expect(patchOf(project(), draft)).toEqual({ budgets: { run: { calls: 200, usd: "7.50" } } });
});

test("an emptied field takes its ceiling away", () => {
  const draft = draftOf(project());
  draft.ceilings["day.usd"] = " ";

  expect(patchOf(project(), draft)).toEqual({ budgets: { day: {} } });
});

test("a hold is typed in minutes and kept in seconds", () => {
  expect(patchOf(project(), { ...draftOf(project()), hold: "45", fail: "closed" })).toEqual({ hold_limit: 2700, fail: "closed" });
});

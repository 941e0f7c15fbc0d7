import { expect, test } from "vitest";
import { aProject } from "../../fixtures/rows";
import { draftOf, patchOf, rulesOf } from "./settings";

test("what is not touched is not sent", () => {
  expect(patchOf(aProject(), draftOf(aProject()))).toEqual({});
});

test("a ceiling that moves keeps its neighbours", () => {
  const draft = draftOf(aProject());
  draft.ceilings["run.usd"] = "7.50";

  expect(patchOf(aProject(), draft)).toEqual({ budgets: { run: { calls: 200, usd: "7.50" } } });
});

test("an emptied field takes its ceiling away", () => {
  const draft = draftOf(aProject());
  draft.ceilings["day.usd"] = " ";

  expect(patchOf(aProject(), draft)).toEqual({ budgets: { day: {} } });
});

test("numbers may have a comma, as a phone set to German types them", () => {
  const draft = { ...draftOf(aProject()), hold: "1,5", ceilings: { "run.usd": "7,50 " } };

  expect(patchOf(aProject(), draft)).toMatchObject({
    hold_limit: 90,
    budgets: { run: { usd: "7.50" } },
  });
});

test("a hold is typed in minutes and kept in seconds", () => {
  expect(patchOf(aProject(), { ...draftOf(aProject()), hold: "45", fail: "closed" })).toEqual({
    hold_limit: 2700,
    fail: "closed",
  });
});

test("words are kept for so many days, and for ever where the field is empty", () => {
  const draft = draftOf(aProject());
  expect(draft.keepWords).toBe("");
  draft.keepWords = "30";
  expect(patchOf(aProject(), draft)).toEqual({ keep_words_days: 30 });

  const kept = aProject({ keep_words_days: 30 });
  expect(patchOf(kept, { ...draftOf(kept), keepWords: " " })).toEqual({ keep_words_days: 0 });
});

test("a project's rules are told in a few words", () => {
  const budgets = { run: { turns: 2000 }, day: { usd: "60" } };

  expect(rulesOf(aProject({ mode: "pause", budgets }))).toEqual([
    "New runs: Pause",
    "2,000 turns per run",
    "$60 per day",
  ]);
  expect(rulesOf(aProject({ mode: "warn", budgets: {} }))).toEqual(["New runs: Warn"]);
});

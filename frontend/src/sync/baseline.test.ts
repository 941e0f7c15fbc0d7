import { expect, it } from "vitest";
import { aRun, NOON, PROJECT } from "../fixtures/rows";
import type { UsualRow } from "../wire/types";
import { isRedlining, ratesOf, timesBaseline } from "./baseline.svelte";

const now = new Date(NOON);
const usual = (usd_per_hour: string | null): UsualRow => ({
  project: PROJECT,
  agent: "coder",
  usd_per_hour,
  runs: 9,
});
const burning = (usd: string) => aRun({ agent: "coder", burn_usd_per_hour: usd });

it("tells how many times its agent's usual a run burns", () => {
  expect(timesBaseline(burning("6.2"), ratesOf([usual("2.00")]), now)).toBeCloseTo(3.1);
});

it("says nothing of an agent with too few recorded runs, another agent, or a quiet run", () => {
  expect(timesBaseline(burning("6.2"), ratesOf([usual(null)]), now)).toBeNull();
  expect(timesBaseline(aRun({ agent: "crew" }), ratesOf([usual("2.00")]), now)).toBeNull();
  expect(timesBaseline(burning("0"), ratesOf([usual("2.00")]), now)).toBeNull();
});

it("red-lines from twice the usual on", () => {
  const rates = ratesOf([usual("2.00")]);

  expect([isRedlining(burning("3.99"), rates, now), isRedlining(burning("4"), rates, now)]).toEqual(
    [false, true],
  );
});

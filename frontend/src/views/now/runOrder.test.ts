import { expect, it } from "vitest";
import { aRun, NOON } from "../../fixtures/rows";
import { RunOrder } from "./runOrder";

const at = (seconds: number) => new Date(Date.parse(NOON) + seconds * 1000);
const slow = aRun({ id: "slow", burn_usd_per_hour: "1" });
const fast = aRun({ id: "fast", burn_usd_per_hour: "9" });
const ids = (runs: { id: string }[]) => runs.map(({ id }) => id);

it("puts the fastest spending first, but moves rows at most every 5 s", () => {
  const order = new RunOrder();
  const faster = { ...slow, burn_usd_per_hour: "20" };

  expect(ids(order.sort([slow, fast], at(0), false))).toEqual(["fast", "slow"]);
  expect(ids(order.sort([faster, fast], at(3), false))).toEqual(["fast", "slow"]);
  expect(ids(order.sort([faster, fast], at(6), true))).toEqual(["fast", "slow"]);
  expect(ids(order.sort([faster, fast], at(7), false))).toEqual(["slow", "fast"]);
});

it("shows a new run at once, at the top", () => {
  const order = new RunOrder();
  order.sort([fast], at(0), false);

  expect(ids(order.sort([fast, slow], at(1), false))).toEqual(["slow", "fast"]);
});

it("puts the one heard last first when nothing is spent", () => {
  const quiet = aRun({ id: "quiet", burn_usd_per_hour: "0" });
  const heard = aRun({ id: "heard", burn_usd_per_hour: "0", last_turn_at: at(1).toISOString() });

  expect(ids(new RunOrder().sort([quiet, heard], at(2), false))).toEqual(["heard", "quiet"]);
});

it("puts red-lining runs before those that spend more but as usual", () => {
  const crew = aRun({ id: "crew", agent: "crew", burn_usd_per_hour: "2" });
  const rates = new Map([[`${crew.project} crew`, 0.5]]);

  expect(ids(new RunOrder().sort([fast, crew], at(0), false, rates))).toEqual(["crew", "fast"]);
});

it("moves nothing under the pointer, not even for a new run", () => {
  const order = new RunOrder();
  order.sort([slow], at(0), false);

  expect(ids(order.sort([slow, fast], at(9), true))).toEqual(["slow", "fast"]);
});

import { describe, expect, it } from "vitest";
import { aRun } from "../fixtures/rows";
import { childrenOf, relationText, liveDescendantsOf } from "./linkedRuns";

const lead = aRun({ id: "a" });
const child = aRun({ id: "b", parent: "a", relation: "child", root: "a" });
const grandchild = aRun({ id: "c", parent: "b", relation: "child", root: "a" });
const ended = aRun({ id: "d", parent: "a", relation: "child", root: "a", status: "completed" });
const below = aRun({ id: "e", parent: "d", relation: "child", root: "a" });
const forked = aRun({ id: "f", parent: "a", relation: "forked", root: "a" });
const other = aRun({ id: "g" });
const all = [other, forked, below, ended, grandchild, child, lead];

describe("linked runs", () => {
  it("names the runs that end with a run, without forks", () => {
    expect(
      liveDescendantsOf(lead, all)
        .map(({ id }) => id)
        .sort(),
    ).toEqual(["b", "c", "e"]);
    expect(liveDescendantsOf(other, all)).toEqual([]);
  });

  it("leaves out what cannot be ended, not what that one started", () => {
    const fixed = { ...child, unavailable: { terminate: "It cannot be ended from here." } };
    expect(liveDescendantsOf(lead, [lead, fixed, grandchild]).map(({ id }) => id)).toEqual(["c"]);
  });

  it("lists the runs right below, in the order they were opened", () => {
    expect(childrenOf(lead, all).map(({ id }) => id)).toEqual(["b", "d", "f"]);
  });

  it("says how a run belongs to its parent", () => {
    expect([relationText("forked"), relationText(null)]).toEqual(["Forked from", "Started by"]);
  });
});

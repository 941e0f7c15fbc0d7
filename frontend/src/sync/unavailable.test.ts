import { describe, expect, it } from "vitest";
import { aDecision, aRun } from "../fixtures/rows";
import { disableAnswers, lostProjects, disableOrganisationRaise } from "./unavailable";
import { EMPTY } from "./reduce";

const theirs = aRun({ id: "r", project: "p" });
const card = aDecision({ id: "d", run: "r", project: "p", actions: ["continue", "terminate"] });
const state = {
  ...EMPTY,
  runs: new Map([["r", theirs]]),
  decisions: new Map([["d", card]]),
};

describe("who only looks", () => {
  it("finds every answer resting, with the reason", () => {
    const shown = disableAnswers(state, new Set(["p"]), "no");

    expect(shown.decisions.get("d")).toMatchObject({
      actions: [],
      unavailable: { continue: "no", terminate: "no" },
    });
    expect(shown.runs.get("r")?.unavailable).toMatchObject({ pause: "no", terminate: "no" });
  });

  it("acts in another project as before", () => {
    const shown = disableAnswers(state, new Set(["other"]), "no");

    expect(shown.decisions.get("d")).toBe(card);
    expect(shown.runs.get("r")).toBe(theirs);
  });

  it("in none costs nothing", () => expect(disableAnswers(state, new Set(), "no")).toBe(state));
});

describe("projects that a person lost", () => {
  const project = (id: string) => ({ id, name: `name of ${id}` });
  const me = (ids: readonly string[], closed: string[] = [], id = "ana") => ({
    user: { id },
    projects: ids.map(project),
    closed,
  });

  it("are those that were there and are no more", () =>
    expect(lostProjects(me(["a", "b"]), me(["b"]))).toEqual(["name of a"]));

  it("are none of another person's", () =>
    expect(lostProjects(me(["a"]), me([], [], "bea"))).toEqual([]));

  it("are none for who just came", () => expect(lostProjects(null, me(["b"]))).toEqual([]));

  it("are none where a second factor opens them", () =>
    expect(lostProjects(me(["a"]), me([], ["name of a"]))).toEqual([]));
});

describe("who owns no project", () => {
  const budget = (scope: "day" | "organisation") =>
    aDecision({
      actions: ["allow_budget", "finish", "terminate"],
      evidence: { ...card.evidence, scope },
    });
  const shown = (scope: "day" | "organisation") =>
    disableOrganisationRaise(
      { ...EMPTY, decisions: new Map([["d", budget(scope)]]) },
      "owners do",
    ).decisions.get("d");

  it("reads on the card who raises what all projects spend", () =>
    expect(shown("organisation")).toMatchObject({
      actions: ["finish", "terminate"],
      unavailable: { allow_budget: "owners do" },
    }));

  it("raises their own project's", () => expect(shown("day")?.actions).toContain("allow_budget"));
});

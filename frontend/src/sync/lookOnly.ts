/** What a person sees of projects in which they only look: every answer rests, and says why. Pure. */
import type { Action, DecisionRow, Me, RunRow } from "../wire/types";
import type { LiveState } from "./reduce";

const ON_A_RUN: readonly Action[] = ["pause", "continue", "terminate", "inject", "restart"];

/** The same state, its runs and cards of these projects without anything to tap. */
export function lookOnly(state: LiveState, projects: ReadonlySet<string>, why: string): LiveState {
  if (projects.size === 0) return state;
  const theirs = ({ project }: { project: string }): boolean => projects.has(project);
  return {
    ...state,
    runs: changed(state.runs, (run) => (theirs(run) ? restingRun(run, why) : run)),
    decisions: changed(state.decisions, (card) => (theirs(card) ? restingCard(card, why) : card)),
  };
}

/** The same state for who owns no project: what all of them may spend is raised by others. */
export function withoutEverybodysRaise(state: LiveState, why: string): LiveState {
  const theirs = ({ evidence, actions }: DecisionRow): boolean =>
    evidence.scope === "organisation" && actions.includes("allow_budget");
  return {
    ...state,
    decisions: changed(state.decisions, (card) =>
      theirs(card)
        ? {
            ...card,
            actions: card.actions.filter((action) => action !== "allow_budget"),
            unavailable: { ...card.unavailable, allow_budget: why },
          }
        : card,
    ),
  };
}

type Person = Pick<Me, "closed"> & {
  readonly user: { readonly id: Me["user"]["id"] };
  readonly projects: readonly Pick<Me["projects"][number], "id" | "name">[];
};

/** Names of projects that a person could look at before and no more: they were removed, or left. */
export function projectsLost(before: Person | null, after: Person): readonly string[] {
  if (before?.user.id !== after.user.id) return []; // another person's are not theirs to read
  const here = new Set(after.projects.map(({ id }) => id));
  const gone = before.projects.filter(({ id }) => !here.has(id));
  // What is closed until there is a second factor is said elsewhere.
  return gone.map(({ name }) => name).filter((name) => !after.closed.includes(name));
}

function changed<Row>(rows: ReadonlyMap<string, Row>, change: (row: Row) => Row) {
  return new Map([...rows].map(([id, row]) => [id, change(row)]));
}

function restingRun(run: RunRow, why: string): RunRow {
  return { ...run, unavailable: { ...run.unavailable, ...reasons(ON_A_RUN, why) } };
}

function restingCard(card: DecisionRow, why: string): DecisionRow {
  const unavailable = { ...card.unavailable, ...reasons(card.actions, why) };
  return { ...card, actions: [], unavailable };
}

function reasons(actions: readonly Action[], why: string): Record<string, string> {
  return Object.fromEntries(actions.map((action) => [action, why]));
}

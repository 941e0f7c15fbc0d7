/** What viewers see of a project: every answer is disabled and says why. Pure. */
import type { Action, DecisionRow, Me, RunRow } from "../wire/types";
import type { LiveState } from "./reduce";

const RUN_ACTIONS: readonly Action[] = ["pause", "continue", "terminate", "inject", "restart"];

/** Return the state with the answers of these projects' runs and cards removed. */
export function disableAnswers(
  state: LiveState,
  projects: ReadonlySet<string>,
  why: string,
): LiveState {
  if (projects.size === 0) return state;
  const theirs = ({ project }: { project: string }): boolean => projects.has(project);
  return {
    ...state,
    runs: mapRows(state.runs, (run) => (theirs(run) ? disableRun(run, why) : run)),
    decisions: mapRows(state.decisions, (card) => (theirs(card) ? disableCard(card, why) : card)),
  };
}

/** Return the state for people who own no project: only owners raise the organisation's budget. */
export function disableOrganisationRaise(state: LiveState, why: string): LiveState {
  const theirs = ({ evidence, actions }: DecisionRow): boolean =>
    evidence.scope === "organisation" && actions.includes("allow_budget");
  return {
    ...state,
    decisions: mapRows(state.decisions, (card) =>
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

/** Return the names of projects that a person can no longer see: they left or were removed. */
export function lostProjects(before: Person | null, after: Person): readonly string[] {
  if (before?.user.id !== after.user.id) return []; // not another person's to read
  const here = new Set(after.projects.map(({ id }) => id));
  const gone = before.projects.filter(({ id }) => !here.has(id));
  // Projects closed until there is a second factor are reported elsewhere.
  return gone.map(({ name }) => name).filter((name) => !after.closed.includes(name));
}

function mapRows<Row>(rows: ReadonlyMap<string, Row>, change: (row: Row) => Row) {
  return new Map([...rows].map(([id, row]) => [id, change(row)]));
}

function disableRun(run: RunRow, why: string): RunRow {
  return { ...run, unavailable: { ...run.unavailable, ...unavailableWith(RUN_ACTIONS, why) } };
}

function disableCard(card: DecisionRow, why: string): DecisionRow {
  const unavailable = { ...card.unavailable, ...unavailableWith(card.actions, why) };
  return { ...card, actions: [], unavailable };
}

function unavailableWith(actions: readonly Action[], why: string): Record<string, string> {
  return Object.fromEntries(actions.map((action) => [action, why]));
}

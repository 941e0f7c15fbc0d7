/**
 * What the screen knows, and how one frame of a socket changes it. Pure.
 *
 * The rule it is tested by: *state fetched before + frames == state fetched after*.
 *
 * - Every event of a run says the run's `version` and `status` after it; open
 *   decisions share that version. An event at or below the known `seq` is old
 *   and ignored. Processes publish apart, and one's events overtake another's: one
 *   beyond the next waits for those before it (`early`), and so do meters of a run
 *   that has yet to be opened. Where they do not come, the sync layer gives them up:
 *   what waits is applied as far as it goes, and the run is `stale` until a new snapshot.
 * - `agent_waiting` of a run's open decisions is "the run is held"; the wait
 *   starts at the event that entered `held`. A person's `pause` makes a flagged
 *   card hold; a closed card offers nothing and nobody waits at it.
 * - `run.moved` may tell where an answer is but not of which decision. A run's
 *   socket knows the intervention; a board's may have missed it, and then the
 *   latest answered decision of that run with an answer under way is meant; an agent
 *   that could not be reached may come back and take its answer after all.
 * - A turn is heard at its event's `at`; the other figures come with the meters.
 * - A card of a held run that closes with `inject`, `finish` or `autofix` skips the
 *   calls it held: their turns say so at once, as the server's rows do.
 * - Such a card opens again when its answer is undone before it left: they wait again.
 * - `run.moved` tells what the agent can do when its adapter learned it; the open card of
 *   the run offers what that leaves.
 * - What was last told of a ceiling (`budget.crossed`) stands in the run's row until
 *   its ceilings move.
 * - Meters carry the tape from its first new or redrawn point on; the last point is
 *   turn number `judged_turns`, so points replace what stood there. Of meters older
 *   than the row only points that it lacks are taken.
 */
import type {
  AutofixRow,
  BatchFrame,
  DecisionRow,
  Event,
  InterventionRow,
  Meters,
  MetersFrame,
  RunRow,
  Snapshot,
  TurnRow,
} from "../wire/types";

/** Turns fetched by REST, brought in through the same door as live ones. */
export interface TurnsFetched {
  type: "turns.fetched";
  rows: readonly TurnRow[];
}

/** A run's autofixes, which no snapshot carries. */
export interface AutofixesFetched {
  type: "autofixes.fetched";
  rows: readonly AutofixRow[];
}

/** Turns that are far from what is in sight: a long run does not fill the memory. */
export interface TurnsForgotten {
  type: "turns.forgotten";
  seqs: readonly number[];
}

/** Runs whose next event was waited for long enough. */
export interface GapGivenUp {
  type: "gap.given_up";
  runs: readonly string[];
}

export type Frame =
  | Snapshot
  | BatchFrame
  | MetersFrame
  | Event
  | TurnsFetched
  | TurnsForgotten
  | AutofixesFetched
  | GapGivenUp;

/** What came of a run before its time: events in order, and meters as they came. */
interface Early {
  readonly events: readonly Event[];
  readonly meters: readonly Meters[];
}

export interface LiveState {
  readonly at: string | null;
  readonly runs: ReadonlyMap<string, RunRow>;
  readonly decisions: ReadonlyMap<string, DecisionRow>;
  readonly interventions: ReadonlyMap<string, InterventionRow>;
  readonly autofixes: ReadonlyMap<string, AutofixRow>;
  /** Of one run's socket; empty on a board. By the turn's `seq`. */
  readonly turns: ReadonlyMap<number, TurnRow>;
  readonly seq: ReadonlyMap<string, number>;
  readonly early: ReadonlyMap<string, Early>;
  readonly stale: ReadonlySet<string>;
}

type RunMoved = Extract<Event, { type: "run.moved" }>;

export const EMPTY: LiveState = {
  at: null,
  runs: new Map(),
  decisions: new Map(),
  interventions: new Map(),
  autofixes: new Map(),
  turns: new Map(),
  seq: new Map(),
  early: new Map(),
  stale: new Set(),
};

/** A closed card asks nothing and nobody waits at it. */
const AT_REST = {
  actions: [],
  unavailable: {},
  agent_waiting: false,
  waiting_since: null,
  gave_up_at: null,
  parked: false,
} satisfies Partial<DecisionRow>;

/** How many points a row's tape keeps, as the server does. */
export const TAPE_LENGTH = 44;

export function reduce(state: LiveState, frame: Frame): LiveState {
  switch (frame.type) {
    case "snapshot":
      return startOver(state, frame);
    case "batch":
      return takeBatch(state, frame);
    case "meters":
      return takeMeters(state, frame);
    case "autofixes.fetched":
      return { ...state, autofixes: new Map([...state.autofixes, ...byId(frame.rows)]) };
    case "turns.fetched":
      return { ...state, turns: withTurns(state.turns, frame.rows) };
    case "turns.forgotten":
      return { ...state, turns: without(state.turns, frame.seqs) };
    case "gap.given_up":
      return frame.runs.reduce(giveUpWaiting, state);
    default:
      return takeEvent(state, frame);
  }
}

export function isOpen(decision: DecisionRow): boolean {
  return decision.status === "open" || decision.status === "judging";
}

function startOver(state: LiveState, frame: Snapshot): LiveState {
  return {
    at: frame.at,
    runs: byId(frame.runs),
    decisions: byId(frame.decisions),
    interventions: byId(frame.interventions),
    autofixes: state.autofixes,
    turns: state.turns,
    seq: new Map(frame.runs.map((run) => [run.id, frame.seq[run.id] ?? run.seq])),
    early: new Map(), // committed before they were sent: the snapshot has them
    stale: new Set(),
  };
}

/**
 * Maps made while a batch is reduced: nobody else has seen them, so the events
 * that follow may write into them instead of copying a thousand rows each.
 */
let fresh: WeakSet<object> | null = null;

function takeBatch(state: LiveState, frame: BatchFrame): LiveState {
  fresh = new WeakSet();
  try {
    return frame.events.reduce(takeEvent, state);
  } finally {
    fresh = null;
  }
}

function put<K, V>(map: ReadonlyMap<K, V>, key: K, value: V): ReadonlyMap<K, V> {
  if (map instanceof Map && fresh?.has(map)) return map.set(key, value);
  const copy = new Map(map).set(key, value);
  fresh?.add(copy);
  return copy;
}

function takeEvent(state: LiveState, event: Event): LiveState {
  if (event.run === null) return state;
  const known = state.seq.get(event.run);
  if (known !== undefined && event.seq <= known) return state;
  const isNext = known === undefined ? event.type === "run.opened" : event.seq === known + 1;
  return isNext
    ? takeWaiting(follow(state, event.run, event), event.run)
    : wait(state, event.run, { event });
}

function follow(state: LiveState, runId: string, event: Event): LiveState {
  const next = { ...state, seq: put(state.seq, runId, event.seq) };
  return applyEvent(followHead(next, runId, event), runId, event);
}

function wait(
  state: LiveState,
  runId: string,
  came: { event?: Event; meters?: Meters },
): LiveState {
  const { events, meters } = state.early.get(runId) ?? { events: [], meters: [] };
  const { event } = came;
  const isNew = event && !events.some(({ seq }) => seq === event.seq);
  const waiting = {
    events: isNew ? [...events, event].sort((a, b) => a.seq - b.seq) : events,
    meters: came.meters ? [...meters, came.meters] : meters,
  };
  return { ...state, early: put(state.early, runId, waiting) };
}

/** A run went on: take what waited for it; what is still early waits again. */
function takeWaiting(state: LiveState, runId: string): LiveState {
  const waiting = state.early.get(runId);
  if (!waiting) return state;
  const { events, meters } = waiting;
  const next = events.reduce(takeEvent, { ...state, early: without(state.early, [runId]) });
  return meters.reduce(
    (then, one) => takeMeters(then, { type: "meters", runs: { [runId]: one } }),
    next,
  );
}

/** Meters alone leave no gap: they are of a run that is not shown. */
function giveUpWaiting(state: LiveState, runId: string): LiveState {
  const events = state.early.get(runId)?.events ?? [];
  const stale = events.length > 0 ? new Set(state.stale).add(runId) : state.stale;
  const early = without(state.early, [runId]);
  return events.reduce((next, event) => follow(next, runId, event), { ...state, early, stale });
}

/** Take over what every event's head says of the run and its open decisions. */
function followHead(state: LiveState, runId: string, event: Event): LiveState {
  const run = state.runs.get(runId);
  if (!run) return state;
  const moved = {
    ...run,
    version: event.version,
    status: event.status ?? run.status,
    seq: event.seq,
  };
  const runs = put(state.runs, runId, moved);
  if (moved.version === run.version && moved.status === run.status) return { ...state, runs };
  return { ...state, runs, decisions: followRun(state.decisions, moved, event.at) };
}

function followRun(
  decisions: LiveState["decisions"],
  run: RunRow,
  at: string,
): LiveState["decisions"] {
  const next = new Map(decisions);
  for (const decision of decisions.values()) {
    if (decision.run !== run.id || !isOpen(decision)) continue;
    const waiting = run.status === "held";
    next.set(decision.id, {
      ...decision,
      version: run.version,
      agent_waiting: waiting,
      waiting_since: waiting ? (decision.waiting_since ?? at) : null,
      gave_up_at: waiting ? null : decision.gave_up_at,
      parked: waiting ? false : decision.parked,
    });
  }
  return next;
}

function applyEvent(state: LiveState, runId: string, event: Event): LiveState {
  switch (event.type) {
    case "run.opened":
      return { ...state, runs: put(state.runs, runId, event.row) };
    case "run.moved":
      return followAnswer(moveRun(state, runId, event), event);
    case "run.linked":
      return changeRun(state, runId, {
        parent: event.parent,
        relation: event.relation,
        root: event.root,
      });
    case "run.imported":
      return changeRun(state, runId, { imported: true });
    case "turn.recorded":
    case "turn.completed":
      return hearTurn(changeRun(state, runId, { last_turn_at: event.at }), event.turn);
    case "detection.raised":
      return markTurn(state, event.turn_seq, event.detector);
    case "decision.opened":
      return openDecision(state, runId, event.row);
    case "judge.ruled":
      // A ruling on a suspicion that opened no card changes nothing on the screen.
      if (!event.decision || !event.decision_status) return state;
      return changeDecision(state, event.decision, {
        verdict: event.verdict,
        status: event.decision_status,
        actions: event.actions,
      });
    case "decision.resolved":
      return closeDecision(state, runId, event);
    case "budget.crossed":
      return tellBudget(state, runId, event);
    case "hold.abandoned":
      return event.decision
        ? changeDecision(state, event.decision, { gave_up_at: event.at, parked: event.parked })
        : state;
    case "intervention.made":
      return takeIntervention(state, event.row, event.expires_at);
    case "autofix.applied":
      return { ...state, autofixes: put(state.autofixes, event.row.id, event.row) };
    case "message.delivered":
    case "message.queued":
      return deliverAutofix(state, runId, event);
    case "autofix.judged":
      return judgeAutofix(state, event);
    case "escalation.asked":
    case "judge.asked":
    case "cost.attributed":
    case "session.terminated":
    case "allowlist.changed":
    case "policy.changed":
    case "access.changed":
    case "chain.anchored":
    case "audit.amended":
    case "notice.sent":
    case "notice.failed":
      return state;
    default:
      event satisfies never;
      return state;
  }
}

function moveRun(state: LiveState, runId: string, event: RunMoved): LiveState {
  const { mode, ended_at, hold_stands, name, goal, budget, policy_version } = event;
  const named = { ...(name !== null && { name }), ...(goal !== null && { goal }) };
  const ceilings = budget && { budget, budget_state: null };
  const followed = policy_version !== null && { policy_version };
  const moved = changeRun(state, runId, {
    mode,
    ended_at,
    hold_stands,
    ...named,
    ...ceilings,
    ...followed,
  });
  const learned = event.capabilities ? learnCapabilities(moved, runId, event) : moved;
  return name === null ? learned : nameCards(learned, runId, name);
}

/** Its adapter found out what it can do; the open card offers accordingly. */
function learnCapabilities(state: LiveState, runId: string, event: RunMoved): LiveState {
  const unavailable = event.unavailable ?? {};
  const known = changeRun(state, runId, { capabilities: event.capabilities ?? {}, unavailable });
  const card = [...known.decisions.values()].find(
    (row) => row.run === runId && isOpen(row) && row.kind !== "permission",
  );
  if (!card || !event.actions) return known;
  return changeDecision(known, card.id, { unavailable, actions: event.actions });
}

/** A run gets its name from its first prompt; its cards carry it too. */
function nameCards(state: LiveState, runId: string, name: string): LiveState {
  const decisions = new Map(state.decisions);
  for (const row of decisions.values()) {
    if (row.run === runId) decisions.set(row.id, { ...row, run_name: name });
  }
  return { ...state, decisions };
}

function hearTurn(state: LiveState, turn: TurnRow | null): LiveState {
  return turn ? { ...state, turns: withTurns(state.turns, [turn]) } : state;
}

function openDecision(state: LiveState, runId: string, row: DecisionRow): LiveState {
  const decisions = put(state.decisions, row.id, row);
  return countOpen(waitAgain({ ...state, decisions }, row), runId, 1);
}

/** A card that opens again, its answer undone: the calls it holds are not skipped any more. */
function waitAgain(state: LiveState, row: DecisionRow): LiveState {
  if (!row.holds) return state;
  const turns = new Map(state.turns);
  for (const turn of heldBy(state, row.id)) turns.set(turn.seq, { ...turn, skipped: false });
  return { ...state, turns };
}

function closeDecision(
  state: LiveState,
  runId: string,
  event: Extract<Event, { type: "decision.resolved" }>,
): LiveState {
  const closed = changeDecision(state, event.decision, {
    status: event.decision_status,
    resolution: event.resolution,
    resolved_by: event.resolved_by,
    resolved_at: event.at,
    ...AT_REST,
  });
  const skips = ["inject", "finish", "autofix"].includes(event.resolution);
  return countOpen(skips ? skipHeld(closed, runId, event.decision) : closed, runId, -1);
}

/** A text that answers a held call takes its place: the call does not run. */
function skipHeld(state: LiveState, runId: string, decisionId: string): LiveState {
  const status = state.runs.get(runId)?.status;
  if (status !== "held" && status !== "holding") return state;
  const held = heldBy(state, decisionId);
  return {
    ...state,
    turns: withTurns(
      state.turns,
      held.map((turn) => ({ ...turn, skipped: true })),
    ),
  };
}

/** The calls that wait for a card's answer. */
function heldBy(state: LiveState, decisionId: string): TurnRow[] {
  const from = Math.max(...(state.decisions.get(decisionId)?.evidence.turns ?? [0]));
  return [...state.turns.values()].filter(({ seq, phase }) => seq >= from && phase === "proposed");
}

function countOpen(state: LiveState, runId: string, by: number): LiveState {
  const open = (state.runs.get(runId)?.open_decisions ?? 0) + by;
  return changeRun(state, runId, { open_decisions: Math.max(0, open) });
}

function takeIntervention(
  state: LiveState,
  row: InterventionRow,
  expiresAt: string | null,
): LiveState {
  const interventions = put(state.interventions, row.id, row);
  const next = { ...state, interventions };
  const decision = row.decision ? state.decisions.get(row.decision) : undefined;
  if (!decision) return next;
  const held = row.action === "pause" && isOpen(decision) ? asHolding(decision, expiresAt) : {};
  return changeDecision(next, decision.id, { intervention: row.status, ...held });
}

/** A person asked a flagged run to wait: its card holds from now on. */
function asHolding(decision: DecisionRow, expiresAt: string | null): Partial<DecisionRow> {
  const actions = decision.actions.filter((action) => action !== "pause");
  return { holds: true, actions, gave_up_at: null, expires_at: expiresAt };
}

function tellBudget(
  state: LiveState,
  runId: string,
  event: Extract<Event, { type: "budget.crossed" }>,
): LiveState {
  const { scope, whose, unit, level, spent, ceiling, share } = event;
  return changeRun(state, runId, {
    budget_state: { scope, whose, unit, level, spent, ceiling, share },
  });
}

function followAnswer(state: LiveState, event: RunMoved): LiveState {
  const { intervention: id, intervention_status: status, reason } = event;
  if (!id || !status) return state;
  const known = state.interventions.get(id);
  // Only what has not left is superseded: not the card's answer that did, but one of no card.
  const isUnderWay = (at: DecisionRow["intervention"]) =>
    reason === "answer superseded" ? at === "asked" : at !== null && at !== "acknowledged";
  const decision = known ? known.decision : answeredLast(state, event.run, isUnderWay);
  const next = decision ? changeDecision(state, decision, { intervention: status }) : state;
  if (!known) return next;
  const row = {
    ...known,
    status,
    delivered_at: known.delivered_at ?? (status === "delivered" ? event.at : null),
    acknowledged_at: known.acknowledged_at ?? (status === "acknowledged" ? event.at : null),
  };
  return { ...next, interventions: put(next.interventions, id, row) };
}

function answeredLast(
  state: LiveState,
  runId: string | null,
  isUnderWay: (at: DecisionRow["intervention"]) => boolean,
): string | null {
  const underWay = [...state.decisions.values()].filter(
    ({ run, intervention }) => run === runId && isUnderWay(intervention),
  );
  const latest = (a: DecisionRow, b: DecisionRow) =>
    (a.resolved_at ?? "") < (b.resolved_at ?? "") ? 1 : -1;
  return underWay.sort(latest)[0]?.id ?? null;
}

/**
 * The event names the message, not the autofix: the one under way is meant. A text that is queued
 * again has not arrived: its reader hung up.
 */
function deliverAutofix(
  state: LiveState,
  runId: string,
  { at, text }: { at: string; text?: string },
): LiveState {
  const meant = [...state.autofixes.values()].find(
    (row) => row.run === runId && (text ? row.text === text : !row.delivered_at),
  );
  if (!meant) return state;
  const row = { ...meant, delivered_at: text ? null : at };
  return { ...state, autofixes: put(state.autofixes, row.id, row) };
}

function judgeAutofix(
  state: LiveState,
  event: Extract<Event, { type: "autofix.judged" }>,
): LiveState {
  const row = state.autofixes.get(event.autofix);
  if (!row) return state;
  const { recovered, turns_after, at } = event;
  const judged = { ...row, recovered, turns_after, judged_at: at };
  return { ...state, autofixes: put(state.autofixes, row.id, judged) };
}

function changeRun(state: LiveState, id: string, change: Partial<RunRow>): LiveState {
  const row = state.runs.get(id);
  return row ? { ...state, runs: put(state.runs, id, { ...row, ...change }) } : state;
}

function changeDecision(state: LiveState, id: string, change: Partial<DecisionRow>): LiveState {
  const row = state.decisions.get(id);
  if (!row) return state;
  return { ...state, decisions: put(state.decisions, id, { ...row, ...change }) };
}

function markTurn(state: LiveState, seq: number, detector: string): LiveState {
  const turn = state.turns.get(seq);
  return turn ? { ...state, turns: put(state.turns, seq, { ...turn, detector }) } : state;
}

function takeMeters(state: LiveState, frame: MetersFrame): LiveState {
  let next = state;
  const runs = new Map(state.runs);
  for (const [id, meters] of Object.entries(frame.runs)) {
    const row = runs.get(id);
    if (row) runs.set(id, withMeters(row, meters));
    else next = wait(next, id, { meters });
  }
  return { ...next, runs };
}

/**
 * Older ones bring their points alone: the socket joins before it reads, so meters from before the
 * snapshot may follow it, and who stored the next turn may have told of it before who judged this.
 */
function withMeters(row: RunRow, meters: Meters): RunRow {
  // None of them ever falls: who tells of less tells of earlier.
  const isOlder =
    meters.turns < row.turns || meters.judged_turns < row.judged_turns || meters.calls < row.calls;
  const tape =
    isOlder && meters.judged_turns <= row.judged_turns
      ? joinTapes(meters, row)
      : joinTapes(row, meters);
  if (isOlder) return { ...row, ...tape };
  return { ...row, ...meters, last_turn_at: later(row.last_turn_at, meters.last_turn_at), ...tape };
}

/** A turn's completion is heard by its event, and may move no meter. */
function later(a: string | null, b: string | null): string | null {
  if (a === null || b === null) return a ?? b;
  return Date.parse(a) > Date.parse(b) ? a : b;
}

type Tape = Pick<RunRow, "tape" | "judged_turns">;

/** Join the points of both, the later ones where both have one. */
function joinTapes(before: Tape, after: Tape): Tape {
  const { tape, judged_turns } = after.tape.length > 0 ? after : before;
  const missing = judged_turns - tape.length - before.judged_turns;
  // Where points between them are missing, those before would stand in the place of others.
  const kept = missing > 0 ? [] : before.tape.slice(0, Math.max(0, before.tape.length + missing));
  return { tape: [...kept, ...tape].slice(-TAPE_LENGTH), judged_turns };
}

function withTurns(turns: LiveState["turns"], rows: readonly TurnRow[]): LiveState["turns"] {
  const next = new Map(turns);
  for (const row of rows) {
    const known = next.get(row.seq);
    next.set(row.seq, known ? laterOf(known, row) : row);
  }
  return next;
}

function without<K, V>(map: ReadonlyMap<K, V>, keys: readonly K[]): ReadonlyMap<K, V> {
  const next = new Map(map);
  for (const key of keys) next.delete(key);
  return next;
}

/** A fetched page and a live event may cross; what a turn gained, it keeps. */
function laterOf(known: TurnRow, row: TurnRow): TurnRow {
  const base = known.phase === "done" && row.phase === "proposed" ? known : row;
  return {
    ...base,
    skipped: known.skipped || row.skipped,
    score: row.score ?? known.score,
    changed: row.changed ?? known.changed,
    detector: row.detector ?? known.detector,
  };
}

function byId<Row extends { id: string }>(rows: readonly Row[]): Map<string, Row> {
  return new Map(rows.map((row) => [row.id, row]));
}

/**
 * What the screens know, and how one frame of a socket changes it. Pure.
 *
 * The invariant that tests check: *state fetched before + frames == state fetched after*.
 *
 * - Every event of a run carries the run's `version` and `status` after it; open
 *   decisions share that version. An event at or below the known `seq` is old and
 *   ignored. Several processes publish, so events may overtake each other: an event
 *   beyond the next waits for those before it (`early`), and so do meters of a run
 *   that is not open yet. If those do not arrive, the sync layer gives up on them:
 *   what waits is applied as far as possible, and the run is `stale` until a new snapshot.
 * - `agent_waiting` of a run's open decisions means "the run is held"; the wait
 *   starts at the event that entered `held`. A person's `pause` makes a flagged
 *   card hold; a closed card offers nothing, and nobody waits at it.
 * - `run.moved` may report the progress of an answer without its decision. A run's
 *   socket knows the intervention. A board's may have missed it; then the event is
 *   about the run's latest answered decision with an undelivered answer. An agent
 *   that was unreachable may come back and still receive its answer.
 * - A turn sets the run's last activity to its event's `at`; other figures come with meters.
 * - A card of a held run that closes with `inject`, `finish` or `autofix` skips the
 *   calls it held: their turns show that at once, like the server's rows.
 * - If that answer is undone before it was sent, the card reopens and the calls wait again.
 * - `run.moved` reports what the agent can do once its adapter knows; the run's open
 *   card then offers only that.
 * - The last warning about a ceiling (`budget.crossed`) stays in the run's row until
 *   its ceilings change.
 * - Meters carry the tape from its first new or redrawn point; the last point is judged
 *   turn number `judged_turns`, and points replace those with the same number. Of meters
 *   older than the row, only points that the row lacks are used.
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

/** Turns fetched by REST, applied in the same way as live ones. */
export interface TurnsFetched {
  type: "turns.fetched";
  rows: readonly TurnRow[];
}

/** A run's autofixes, which no snapshot carries. */
export interface AutofixesFetched {
  type: "autofixes.fetched";
  rows: readonly AutofixRow[];
}

/** Turns far from the visible ones, dropped so that a long run does not fill the memory. */
export interface TurnsForgotten {
  type: "turns.forgotten";
  seqs: readonly number[];
}

/** Runs whose next event did not arrive in time. */
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

/** What arrived too early for a run: events in order, and meters in order of arrival. */
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
  /** The turns of a run's socket, by `seq`; empty on a board. */
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

/** A closed card offers nothing, and nobody waits at it. */
const AT_REST = {
  actions: [],
  unavailable: {},
  agent_waiting: false,
  waiting_since: null,
  gave_up_at: null,
  parked: false,
} satisfies Partial<DecisionRow>;

/** How many points a row's tape keeps, the same as on the server. */
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
    early: new Map(), // the snapshot includes them: events are committed before they are sent
    stale: new Set(),
  };
}

/**
 * Maps created while a batch is reduced. Nothing else refers to them yet, so the next
 * events may write to them instead of each copying a thousand rows.
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

/** After a run advanced, apply what waited for it; what is still early waits again. */
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

/** Meters without events leave no gap: they belong to a run that is not shown. */
function giveUpWaiting(state: LiveState, runId: string): LiveState {
  const events = state.early.get(runId)?.events ?? [];
  const stale = events.length > 0 ? new Set(state.stale).add(runId) : state.stale;
  const early = without(state.early, [runId]);
  return events.reduce((next, event) => follow(next, runId, event), { ...state, early, stale });
}

/** Apply an event's head to the run and its open decisions. */
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
      // A verdict on a suspicion without a card changes nothing on the screen.
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

/** Apply what the adapter reports that its agent can do to the run and its open card. */
function learnCapabilities(state: LiveState, runId: string, event: RunMoved): LiveState {
  const unavailable = event.unavailable ?? {};
  const known = changeRun(state, runId, { capabilities: event.capabilities ?? {}, unavailable });
  const card = [...known.decisions.values()].find(
    (row) => row.run === runId && isOpen(row) && row.kind !== "permission",
  );
  if (!card || !event.actions) return known;
  return changeDecision(known, card.id, { unavailable, actions: event.actions });
}

/** A run gets its name from its first prompt; its cards show it too. */
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

/** A card reopens because its answer was undone: the calls it holds are no longer skipped. */
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

/** A text that answers a held call replaces it: the call does not run. */
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

/** Return the calls that wait for a card's answer. */
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

/** A person asked a flagged run to wait, so its card now holds. */
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
  // Only an undelivered answer is superseded: if the card's was delivered, it is one of no card.
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
 * The event names the message, not the autofix, so it is about the undelivered one. A text that is
 * queued again was not delivered: its reader disconnected.
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
 * Of older meters only the points are used. The socket subscribes before it reads, so older meters
 * may follow a snapshot, and a turn may be reported as stored before the previous one as judged.
 */
function withMeters(row: RunRow, meters: Meters): RunRow {
  // None of these ever decreases, so lower values are older.
  const isOlder =
    meters.turns < row.turns || meters.judged_turns < row.judged_turns || meters.calls < row.calls;
  const tape =
    isOlder && meters.judged_turns <= row.judged_turns
      ? joinTapes(meters, row)
      : joinTapes(row, meters);
  if (isOlder) return { ...row, ...tape };
  return { ...row, ...meters, last_turn_at: later(row.last_turn_at, meters.last_turn_at), ...tape };
}

/** Return the later time. A turn's completion comes with its event and may change no meter. */
function later(a: string | null, b: string | null): string | null {
  if (a === null || b === null) return a ?? b;
  return Date.parse(a) > Date.parse(b) ? a : b;
}

type Tape = Pick<RunRow, "tape" | "judged_turns">;

/** Join the points of both; where both have one, the later wins. */
function joinTapes(before: Tape, after: Tape): Tape {
  const { tape, judged_turns } = after.tape.length > 0 ? after : before;
  const missing = judged_turns - tape.length - before.judged_turns;
  // If points between them are missing, the earlier ones would be drawn in the wrong place.
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

/** A fetched page and a live event may cross: a turn keeps the values it already has. */
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

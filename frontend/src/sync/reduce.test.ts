import { describe, expect, it } from "vitest";
import { aDecision, aRun, aTurn, NOON, PROJECT } from "../fixtures/rows";
import type { Event, InterventionRow, Meters, Snapshot } from "../wire/types";
import { EMPTY, isOpen, reduce, TAPE_LENGTH, type Frame, type LiveState } from "./reduce";

const LATER = "2026-11-21T12:05:00Z";

function snapshot(change: Partial<Snapshot> = {}): Snapshot {
  const runs = change.runs ?? [aRun()];
  return {
    type: "snapshot",
    at: NOON,
    runs,
    decisions: [],
    interventions: [],
    seq: Object.fromEntries(runs.map((run) => [run.id, run.seq])),
    ...change,
  };
}

const head = (seq: number) => ({
  run: "run-1",
  project: PROJECT,
  seq,
  at: LATER,
  by: "guard",
  version: 1,
  status: null,
});

const opened = aDecision({ id: "decision-2" });
const moved = (
  seq: number,
  change: Partial<Extract<Event, { type: "run.moved" }>> = {},
): Event => ({
  type: "run.moved",
  ...head(seq),
  reason: "",
  mode: "pause",
  ended_at: null,
  hold_stands: false,
  intervention: null,
  intervention_status: null,
  name: null,
  goal: null,
  budget: null,
  policy_version: null,
  capabilities: null,
  unavailable: null,
  actions: null,
  ...change,
});
const crossed = (seq: number): Event => ({
  type: "budget.crossed",
  ...head(seq),
  scope: "project",
  whose: null,
  unit: "usd",
  level: "warning",
  spent: "8",
  ceiling: "10",
  share: 0.8,
});
const made = (change: Partial<InterventionRow> = {}): InterventionRow => ({
  id: "made-1",
  project: PROJECT,
  run: "run-1",
  decision: "decision-1",
  key: "key-1",
  action: "inject",
  status: "asked",
  by: "Ana",
  message: "look in lib",
  version: 2,
  at: LATER,
  delivered_at: null,
  acknowledged_at: null,
  new_run: null,
  ...change,
});
const meters = (change: Partial<Meters> = {}): Meters => ({
  turns: 4,
  usage: aRun().usage,
  cost_usd: "2.50",
  judge_cost_usd: "0",
  unpriced_calls: 0,
  usage_source: "turns",
  calls: 4,
  burn_usd_per_hour: "6",
  presence: "working",
  doing: "Read a.py",
  agent: "claude-code",
  model: "m",
  last_turn_at: LATER,
  tape: [[0.5, true]],
  judged_turns: 4,
  ...change,
});

const after = (state: LiveState, ...frames: Frame[]) => frames.reduce(reduce, state);
const start = (change: Partial<Snapshot> = {}) => reduce(EMPTY, snapshot(change));
const withCard = (change = {}) =>
  start({ runs: [aRun({ open_decisions: 1 })], decisions: [aDecision(change)] });
const run = (state: LiveState) => state.runs.get("run-1");
const card = (state: LiveState, id = "decision-1") => state.decisions.get(id);

describe("a snapshot", () => {
  it("replaces what was known and forgets staleness", () => {
    const before = { ...start({ runs: [aRun({ id: "old" })] }), stale: new Set(["old"]) };

    const state = reduce(before, snapshot());

    expect([...state.runs.keys()]).toEqual(["run-1"]);
    expect(state.stale.size).toBe(0);
  });

  it("takes the row's own seq when the frame names none", () => {
    expect(start({ seq: {} }).seq.get("run-1")).toBe(1);
  });
});

describe("the order of events", () => {
  it("ignores what is already known", () => {
    const state = start();

    expect(reduce(state, moved(1, { mode: "auto" }))).toBe(state);
  });

  it("waits for one that a later one overtook, and then takes both in order", () => {
    const early = reduce(start(), moved(3, { mode: "auto" }));
    expect([run(early)?.mode, early.seq.get("run-1"), early.stale.size]).toEqual(["pause", 1, 0]);

    const state = reduce(early, moved(2, { mode: "flag" }));

    expect([run(state)?.mode, run(state)?.seq]).toEqual(["auto", 3]);
    expect([state.stale.size, state.early.size]).toEqual([0, 0]);
  });

  it("takes all meters that came before the run, in their order", () => {
    const row = aRun({ seq: 1, turns: 0, judged_turns: 0, tape: [] });
    const opening: Frame = { type: "run.opened", ...head(1), row, chosen_by_agent: [] };
    const frames = [
      meters({ judged_turns: 1, tape: [[0.1, true]] }),
      meters({ judged_turns: 2, tape: [[0.2, true]] }),
    ].map((one): Frame => ({ type: "meters", runs: { "run-1": one } }));

    const waited = run(after(EMPTY, ...frames, opening));

    expect(waited?.tape).toEqual(run(after(EMPTY, opening, ...frames))?.tape);
    expect(waited?.tape).toHaveLength(2);
  });

  it("takes what came twice while it waited once", () => {
    const state = after(start(), moved(3), moved(3));

    expect(state.early.get("run-1")?.events).toHaveLength(1);
  });

  it("waits on for what is still missing", () => {
    const state = after(start(), moved(5), moved(3, { mode: "flag" }), moved(2));

    expect([run(state)?.mode, state.seq.get("run-1")]).toEqual(["flag", 3]);
    expect(state.early.get("run-1")?.events.map(({ seq }) => seq)).toEqual([5]);
  });

  it("lets a run open after its first turn was told, with the meters that came before", () => {
    const row = aRun({ seq: 1, turns: 0, judged_turns: 0, tape: [] });
    const told: Frame = { type: "meters", runs: { "run-1": meters() } };

    const state = after(EMPTY, moved(2, { mode: "auto" }), told, {
      type: "run.opened",
      ...head(1),
      row,
      chosen_by_agent: [],
    });

    expect([run(state)?.mode, run(state)?.judged_turns]).toEqual(["auto", 4]);
    expect([state.stale.size, state.early.size]).toEqual([0, 0]);
  });

  it("applies what waits and marks the run stale when one does not come", () => {
    const state = after(start(), moved(4), moved(3, { mode: "auto" }), {
      type: "gap.given_up",
      runs: ["run-1", "gone-on-meanwhile"],
    });

    expect([[...state.stale], state.early.size]).toEqual([["run-1"], 0]);
    expect([run(state)?.mode, state.seq.get("run-1")]).toEqual(["pause", 4]);
  });

  it("marks a run stale that nobody has heard of, but not for its meters alone", () => {
    const told: Frame = { type: "meters", runs: { "run-2": meters() } };

    const state = after(EMPTY, moved(7), told, { type: "gap.given_up", runs: ["run-1", "run-2"] });

    expect([[...state.stale], state.runs.size, state.early.size]).toEqual([["run-1"], 0, 0]);
  });

  it("forgets what waited when a snapshot has it", () => {
    const state = reduce(reduce(start(), moved(3)), snapshot({ seq: { "run-1": 3 } }));

    expect([state.early.size, state.seq.get("run-1")]).toEqual([0, 3]);
  });

  it("takes a run that opens as it is", () => {
    const row = aRun({ seq: 0 });
    const state = reduce(EMPTY, { type: "run.opened", ...head(0), row, chosen_by_agent: [] });

    expect([run(state), state.stale.size]).toEqual([row, 0]);
  });

  it("takes the events of a batch in order", () => {
    const events = [moved(2, { mode: "flag" }), moved(3, { mode: "auto" })];
    const state = reduce(start(), { type: "batch", events });

    expect([run(state)?.mode, run(state)?.seq]).toEqual(["auto", 3]);
  });

  it("leaves the state before a batch as it was", () => {
    const before = withCard();
    const events = [moved(2, { status: "held", version: 2 }), moved(3, { mode: "auto" })];

    reduce(before, { type: "batch", events });

    expect([run(before)?.mode, run(before)?.seq, card(before)?.agent_waiting]).toEqual([
      "pause",
      1,
      false,
    ]);
  });

  it("has nothing to say about what belongs to no run", () => {
    const state = start();
    const event: Event = {
      type: "policy.changed",
      ...head(2),
      run: null,
      what: "mode",
      before: "pause",
      after: "auto",
      policy_version: null,
    };

    expect(reduce(state, event)).toBe(state);
  });
});

describe("a run that moves", () => {
  it("takes version, status, mode and end", () => {
    const state = reduce(
      start(),
      moved(2, { status: "completed", version: 5, ended_at: LATER, mode: "warn" }),
    );

    expect(run(state)).toMatchObject({
      status: "completed",
      version: 5,
      ended_at: LATER,
      mode: "warn",
      seq: 2,
    });
  });

  it("lets its open card wait from the moment it is held", () => {
    const state = reduce(withCard({ gave_up_at: NOON }), moved(2, { status: "held" }));

    expect(card(state)).toMatchObject({
      agent_waiting: true,
      waiting_since: LATER,
      gave_up_at: null,
    });
  });

  it("keeps the start of the wait while it stays held", () => {
    const held = reduce(withCard(), moved(2, { status: "held" }));
    const state = reduce(held, { ...moved(3, { status: "held", version: 9 }), at: "later still" });

    expect(card(state)).toMatchObject({ waiting_since: LATER, version: 9 });
  });

  it("ends the wait when it is let go", () => {
    const held = reduce(withCard(), moved(2, { status: "held" }));
    const state = reduce(held, moved(3, { status: "running" }));

    expect(card(state)).toMatchObject({ agent_waiting: false, waiting_since: null });
  });

  it("leaves closed cards and other runs' cards alone", () => {
    const closed = aDecision({ id: "closed", status: "resolved" });
    const other = aDecision({ id: "other", run: "run-2" });
    const state = reduce(
      start({ decisions: [closed, other] }),
      moved(2, { status: "held", version: 8 }),
    );

    expect([card(state, "closed"), card(state, "other")]).toEqual([closed, other]);
  });

  it("gets its name and goal, and its cards with it", () => {
    const other = aDecision({ id: "other", run: "run-2" });
    const before = start({ decisions: [aDecision(), other] });
    const state = reduce(before, moved(2, { name: "tidy imports", goal: "tidy" }));

    expect(run(state)).toMatchObject({ name: "tidy imports", goal: "tidy" });
    expect([card(state)?.run_name, card(state, "other")?.run_name]).toEqual([
      "tidy imports",
      "fix-auth-tests",
    ]);
  });

  it("takes a new budget", () => {
    const state = reduce(start(), moved(2, { budget: { usd: "12.00" } }));

    expect(run(state)?.budget).toEqual({ usd: "12.00" });
  });

  it("shows what was told of a ceiling until the ceilings move", () => {
    const warned = reduce(start(), crossed(2));
    const raised = reduce(warned, moved(3, { budget: { usd: "12.00" } }));

    expect(run(warned)?.budget_state).toEqual({
      scope: "project",
      whose: null,
      unit: "usd",
      level: "warning",
      spent: "8",
      ceiling: "10",
      share: 0.8,
    });
    expect(run(raised)?.budget_state).toBeNull();
  });

  it("knows its parent once linked", () => {
    const state = reduce(start(), {
      type: "run.linked",
      ...head(2),
      parent: "run-1",
      relation: "forked",
      root: "run-0",
    });

    expect(run(state)).toMatchObject({ parent: "run-1", relation: "forked", root: "run-0" });
  });
});

describe("cards", () => {
  it("open and are counted", () => {
    const state = reduce(start(), { type: "decision.opened", ...head(2), row: opened });

    expect([card(state, "decision-2"), run(state)?.open_decisions]).toEqual([opened, 1]);
  });

  it("take the judge's ruling", () => {
    const verdict = {
      judge: "local",
      loop: true,
      confidence: 0.94,
      reason: "r",
      fix: "f",
      stand_in: false,
    };
    const state = reduce(withCard({ status: "judging" }), {
      type: "judge.ruled",
      ...head(2),
      decision: "decision-1",
      verdict,
      decision_status: "open",
      actions: ["continue"],
    });

    expect(card(state)).toMatchObject({ verdict, status: "open", actions: ["continue"] });
  });

  it("are not touched by a ruling on a suspicion that opened no card", () => {
    const before = withCard({});
    const after = reduce(before, {
      type: "judge.ruled",
      ...head(2),
      decision: null,
      verdict: {
        judge: "m",
        loop: false,
        confidence: 0.9,
        reason: "r",
        fix: null,
        stand_in: false,
      },
      decision_status: null,
      actions: [],
    });

    expect(card(after)).toEqual(card(before));
  });

  it("close with who, what and when, and ask nothing any more", () => {
    const state = reduce(withCard({ agent_waiting: true, waiting_since: NOON }), {
      type: "decision.resolved",
      ...head(2),
      version: 2,
      decision: "decision-1",
      decision_status: "resolved",
      resolution: "inject",
      resolved_by: "Ana",
    });

    expect(card(state)).toMatchObject({
      status: "resolved",
      resolution: "inject",
      resolved_by: "Ana",
      resolved_at: LATER,
      version: 2,
      actions: [],
      agent_waiting: false,
      waiting_since: null,
      holds: true,
    });
    expect(run(state)?.open_decisions).toBe(0);
  });

  it("are not counted below nothing, nor for a run nobody knows", () => {
    const close: Event = {
      type: "decision.resolved",
      ...head(2),
      decision: "unknown",
      decision_status: "resolved",
      resolution: "continue",
      resolved_by: "Ana",
    };

    expect(run(reduce(start(), close))?.open_decisions).toBe(0);
    expect(reduce(EMPTY, close).runs.size).toBe(0);
  });

  it("say that the agent gave up waiting", () => {
    const event = { type: "hold.abandoned" as const, parked: false, ...head(2) };

    expect(card(reduce(withCard(), { ...event, decision: "decision-1" }))?.gave_up_at).toBe(LATER);
    expect(card(reduce(withCard(), { ...event, decision: null }))?.gave_up_at).toBeNull();
    const parked = reduce(withCard(), { ...event, decision: "decision-1", parked: true });
    expect(card(parked)?.parked).toBe(true);
  });
});

describe("answers", () => {
  const answer = (row: InterventionRow, seq = 2, expires_at: string | null = null): Event => ({
    type: "intervention.made",
    ...head(seq),
    row,
    expires_at,
    raised: null,
  });

  it("are asked at first", () => {
    const state = reduce(withCard(), answer(made()));

    expect([state.interventions.get("made-1"), card(state)?.intervention]).toEqual([
      made(),
      "asked",
    ]);
  });

  it("need no card", () => {
    const free = reduce(withCard(), answer(made({ decision: null })));
    const unknown = reduce(withCard(), answer(made({ decision: "elsewhere" })));

    expect([card(free)?.intervention, card(unknown)?.intervention]).toEqual([null, null]);
  });

  it("make a flagged card hold when they are a pause", () => {
    const flagged = withCard({ holds: false, actions: ["continue", "pause"] });
    const state = reduce(flagged, answer(made({ action: "pause" }), 2, LATER));

    expect(card(state)).toMatchObject({ holds: true, actions: ["continue"], expires_at: LATER });
  });

  it("are followed to their delivery and to the agent's next deed", () => {
    const state = after(
      withCard(),
      answer(made()),
      moved(3, { intervention: "made-1", intervention_status: "delivered" }),
      { ...moved(4, { intervention: "made-1", intervention_status: "acknowledged" }), at: "then" },
    );

    expect(state.interventions.get("made-1")).toMatchObject({
      status: "acknowledged",
      delivered_at: LATER,
      acknowledged_at: "then",
    });
    expect(card(state)?.intervention).toBe("acknowledged");
  });

  it("without a card are followed too", () => {
    const state = after(
      withCard(),
      answer(made({ decision: null })),
      moved(3, { intervention: "made-1", intervention_status: "unreachable" }),
    );

    expect(state.interventions.get("made-1")?.status).toBe("unreachable");
  });

  it("made before a board's snapshot belong to the card answered last", () => {
    const cards = [
      aDecision({ id: "early", status: "resolved", resolved_at: NOON, intervention: "asked" }),
      aDecision({ id: "late", status: "resolved", resolved_at: LATER, intervention: "delivered" }),
      aDecision({ id: "unset", intervention: "asked" }),
      aDecision({
        id: "over",
        status: "resolved",
        resolved_at: LATER,
        intervention: "acknowledged",
      }),
      aDecision({ id: "other", run: "run-2", intervention: "asked" }),
    ];
    const event = moved(2, { intervention: "before", intervention_status: "acknowledged" });

    const state = reduce(start({ decisions: cards }), event);
    const reversed = reduce(start({ decisions: [...cards].reverse() }), event);

    expect(card(state, "late")?.intervention).toBe("acknowledged");
    expect(card(state, "early")?.intervention).toBe("asked");
    expect(card(reversed, "late")?.intervention).toBe("acknowledged");
  });

  it("that left are not superseded by what took the place of another, made before the snapshot", () => {
    const superseded = moved(2, {
      intervention: "pause",
      intervention_status: "unreachable",
      reason: "answer superseded",
    });
    const answered = (intervention: "asked" | "delivered") =>
      start({ decisions: [aDecision({ status: "resolved", resolved_at: NOON, intervention })] });
    const states = (["asked", "delivered"] as const).map(
      (before) => card(reduce(answered(before), superseded))?.intervention,
    );

    expect(states).toEqual(["unreachable", "delivered"]);
  });

  it("that nobody here knows change no card", () => {
    const event = moved(2, { intervention: "before", intervention_status: "delivered" });

    expect(card(reduce(withCard(), event))?.intervention).toBeNull();
  });
});

describe("autofixes", () => {
  const row = {
    id: "fix-1",
    project: PROJECT,
    run: "run-1",
    run_name: "fix-auth-tests",
    decision: "decision-1",
    text: "look in lib",
    applied_at: NOON,
    delivered_at: null,
    recovered: null,
    judged_at: null,
    turns_after: 0,
    seq: null,
    kind: "same_error",
  };

  it("are fetched beside the snapshot, which has none", () => {
    expect(
      reduce(start(), { type: "autofixes.fetched", rows: [row] }).autofixes.get("fix-1"),
    ).toEqual(row);
  });

  it("are delivered when the run's message is", () => {
    const other = { ...row, id: "fix-2", run: "run-2" };
    const before = reduce(start(), { type: "autofixes.fetched", rows: [other, row] });
    const state = reduce(before, { type: "message.delivered", ...head(2), message: "m" });

    expect(state.autofixes.get("fix-1")?.delivered_at).toBe(LATER);
    expect(state.autofixes.get("fix-2")?.delivered_at).toBeNull();
  });

  it("are delivered no more when their text is queued again, and no other text's", () => {
    const queued = (text: string): Frame => ({
      type: "message.queued",
      ...head(4),
      message: "m",
      text,
      agent: null,
      intervention: null,
    });
    const delivered = after(
      start(),
      { type: "autofix.applied", ...head(2), row },
      { type: "message.delivered", ...head(3), message: "m" },
    );

    expect(after(delivered, queued("Another.")).autofixes.get("fix-1")?.delivered_at).toBe(LATER);
    expect(after(delivered, queued(row.text)).autofixes.get("fix-1")?.delivered_at).toBeNull();
  });

  it("are kept, and their outcome with them", () => {
    const state = after(
      start(),
      { type: "autofix.applied", ...head(2), row },
      { type: "autofix.judged", ...head(3), autofix: "fix-1", recovered: true, turns_after: 1 },
      { type: "autofix.judged", ...head(4), autofix: "unknown", recovered: false, turns_after: 5 },
    );

    expect(state.autofixes.get("fix-1")).toEqual({
      ...row,
      recovered: true,
      turns_after: 1,
      judged_at: LATER,
    });
  });
});

describe("turns", () => {
  const recorded = (seq: number, turn: ReturnType<typeof aTurn> | null): Event => ({
    type: "turn.recorded",
    ...head(seq),
    turn_id: "t",
    turn_seq: 0,
    digest: "",
    turn,
  });

  it("are heard when they come", () => {
    expect(run(reduce(start(), recorded(2, null)))?.last_turn_at).toBe(LATER);
  });

  it("come whole on a run's socket and empty on a board's", () => {
    expect(reduce(start(), recorded(2, aTurn())).turns.get(0)).toEqual(aTurn());
    expect(reduce(start(), recorded(2, null)).turns.size).toBe(0);
  });

  it("keep what they gained when a page crosses an event", () => {
    const done = aTurn({ phase: "done", result: "ok", score: 0.9, changed: true });
    const proposed = aTurn({ phase: "proposed", skipped: true, detector: "exact_repeat" });

    const state = after(
      start(),
      { type: "turn.completed", ...head(2), turn_id: "t", turn_seq: 0, digest: "", turn: done },
      { type: "turns.fetched", rows: [proposed] },
    );

    expect(state.turns.get(0)).toEqual({ ...done, skipped: true, detector: "exact_repeat" });
  });

  it("are forgotten when they are far away, and taken again", () => {
    const page: Frame = { type: "turns.fetched", rows: [0, 1, 2].map((seq) => aTurn({ seq })) };

    const state = after(start(), page, { type: "turns.forgotten", seqs: [0, 2, 9] });

    expect([...state.turns.keys()]).toEqual([1]);
    expect(after(state, page).turns.size).toBe(3);
  });

  it("take a newer row over an older one", () => {
    const state = after(
      start(),
      { type: "turns.fetched", rows: [aTurn({ phase: "proposed", score: 0.4 })] },
      { type: "turns.fetched", rows: [aTurn({ phase: "done", result: "ok" })] },
    );

    expect(state.turns.get(0)).toMatchObject({ phase: "done", result: "ok", score: 0.4 });
  });

  it("that were held are skipped when a text answers them", () => {
    const close = (status: "held" | "running"): Event => ({
      type: "decision.resolved",
      ...head(5),
      status,
      decision: "decision-1",
      decision_status: "resolved",
      resolution: "inject",
      resolved_by: "Ana",
    });
    const before = after(
      withCard({ evidence: { ...aDecision().evidence, turns: [0, 1] } }),
      recorded(2, aTurn({ seq: 0, phase: "proposed" })),
      recorded(3, aTurn({ seq: 1, phase: "proposed" })),
      recorded(4, aTurn({ seq: 2, phase: "done" })),
    );
    const skipped = (state: LiveState) => [...state.turns.values()].map((turn) => turn.skipped);

    expect(skipped(reduce(before, close("held")))).toEqual([false, true, false]);
    expect(skipped(reduce(before, close("running")))).toEqual([false, false, false]);
    expect(reduce(EMPTY, close("held")).turns.size).toBe(0);
    const elsewhere = reduce(start({ runs: [aRun({ status: "holding" })] }), {
      ...close("held"),
      seq: 2,
      status: null,
    });
    expect(elsewhere.turns.size).toBe(0);
  });

  it("that a text had answered wait again when their card opens again", () => {
    const again = (holds: boolean): Event => ({
      type: "decision.opened",
      ...head(4),
      row: aDecision({ id: "again", holds, evidence: { ...aDecision().evidence, turns: [0, 1] } }),
    });
    const before = after(
      withCard(),
      recorded(2, aTurn({ seq: 0, phase: "proposed", skipped: true })),
      recorded(3, aTurn({ seq: 1, phase: "proposed", skipped: true })),
    );
    const skipped = (state: LiveState) => [...state.turns.values()].map((turn) => turn.skipped);

    expect(skipped(reduce(before, again(true)))).toEqual([true, false]);
    expect(skipped(reduce(before, again(false)))).toEqual([true, true]);
  });

  it("are marked when a detector trips on them", () => {
    const raised = (seq: number, turn: number): Event => ({
      type: "detection.raised",
      ...head(seq),
      detector: "ping_pong",
      kind: "ping_pong",
      turn_seq: turn,
      turns: [turn],
      summary: "",
      outcome: "card",
    });
    const state = after(start(), recorded(2, aTurn()), raised(3, 0), raised(4, 9));

    expect([state.turns.get(0)?.detector, state.turns.size]).toEqual(["ping_pong", 1]);
  });
});

describe("meters", () => {
  const beat = (change: Partial<Meters> = {}): Frame => ({
    type: "meters",
    runs: { "run-1": meters(change), unknown: meters() },
  });
  const tape = (state: LiveState) => run(state)?.tape.map(([score]) => score);

  it("change the figures and add the new points", () => {
    const state = reduce(
      start({ runs: [aRun({ tape: [[0.1, false]], judged_turns: 3 })] }),
      beat(),
    );

    expect(run(state)).toMatchObject({ turns: 4, cost_usd: "2.50", doing: "Read a.py" });
    expect(tape(state)).toEqual([0.1, 0.5]);
    expect(state.runs.size).toBe(1);
  });

  it("replace points that are redrawn", () => {
    const known = aRun({
      tape: [
        [0.1, false],
        [0.3, false],
      ],
      judged_turns: 4,
    });

    expect(tape(reduce(start({ runs: [known] }), beat()))).toEqual([0.1, 0.5]);
  });

  it("leave out the points before those that are missing: each stands in its place", () => {
    const known = aRun({ tape: [[0.1, false]], judged_turns: 1 });

    expect(tape(reduce(start({ runs: [known] }), beat({ judged_turns: 9 })))).toEqual([0.5]);
  });

  it("bring their points also where a later turn was told before them", () => {
    const stored = beat({ turns: 5, judged_turns: 4, tape: [] });
    const judged = beat({ turns: 4, judged_turns: 4 });
    const known = start({ runs: [aRun({ tape: [[0.1, false]], judged_turns: 3 })] });

    const state = [stored, judged].reduce(reduce, known);

    expect(run(state)).toMatchObject({ turns: 5, judged_turns: 4 });
    expect(tape(state)).toEqual([0.1, 0.5]);
  });

  it("put points that come late before those that came", () => {
    const late = beat({ judged_turns: 4 });
    const known = aRun({ turns: 5, tape: [[0.7, true]], judged_turns: 5 });

    expect(tape(reduce(start({ runs: [known] }), late))).toEqual([0.5, 0.7]);
  });

  it("do not take back when the run was heard last", () => {
    const heard = "2026-11-21T12:09:00Z";
    const at = (last_turn_at: string | null) =>
      run(reduce(start({ runs: [aRun({ last_turn_at })] }), beat()));

    expect([at(heard)?.last_turn_at, at(null)?.last_turn_at]).toEqual([heard, LATER]);
  });

  it("are ignored when they are older than the snapshot", () => {
    const ahead = aRun({ turns: 9, tape: [[0.1, false]], judged_turns: 9 });

    expect(run(reduce(start({ runs: [ahead] }), beat()))).toEqual(ahead);
  });

  it("are ignored when a call has come back since", () => {
    const ahead = aRun({ turns: 4, tape: [[0.1, false]], judged_turns: 4, calls: 9 });

    expect(run(reduce(start({ runs: [ahead] }), beat({ tape: [] })))).toEqual(ahead);
  });

  it("keep the tape as long as the server's", () => {
    const full = aRun({
      tape: Array.from({ length: TAPE_LENGTH }, () => [0.2, false]),
      judged_turns: 44,
    });
    const state = reduce(start({ runs: [full] }), beat({ judged_turns: 45 }));

    expect([tape(state)?.length, tape(state)?.at(-1)]).toEqual([TAPE_LENGTH, 0.5]);
  });
});

describe("events that change nothing on the screen", () => {
  const quiet: Event[] = [
    {
      type: "escalation.asked",
      ...head(2),
      reason: "",
      decision: "decision-1",
      detector: "broker",
      kind: "semantic_repeat",
      repeats: 3,
      agent: null,
      turn_seq: 3,
      first_error: null,
      message: "m",
    },
    { type: "judge.asked", ...head(2), decision: "decision-1", judge: "local" },
    { type: "message.queued", ...head(2), message: "m", text: "", agent: null, intervention: null },
    { type: "message.delivered", ...head(2), message: "m" },
    {
      type: "cost.attributed",
      ...head(2),
      source: "turns",
      cost_usd: null,
      call_id: "m1",
      agent: "",
      model: null,
      provider: null,
      usage: null,
      priced_by: null,
      turn_seq: 0,
      taken_back: 0,
    },
    { type: "session.terminated", ...head(2), reason: "" },
    { type: "allowlist.changed", ...head(2), change: "added", entry: "e", pattern: "p" },
    { type: "access.changed", ...head(2), what: "" },
    {
      type: "chain.anchored",
      ...head(2),
      heads: {},
      signature: "",
      key: "",
      head: "",
      head_seq: 0,
      predecessor: "",
      number: 1,
    },
    {
      type: "audit.amended",
      ...head(2),
      change: "erased",
      reason: "",
      of_run: "r",
      through_seq: 1,
      turns_through: 0,
      rows: null,
      heads_file: null,
      known: null,
      successor: null,
      former: null,
      key: "",
      signature: "",
    },
    { type: "notice.sent", ...head(2), channel: "push", decision: null },
    { type: "notice.failed", ...head(2), channel: "push", decision: null, reason: "" },
  ];

  it.each(quiet)("still move the run's seq: $type", (event) => {
    expect(run(reduce(start(), event))).toEqual(aRun({ seq: 2 }));
  });

  it("may be of a type that this screen does not know yet", () => {
    const event: Event = JSON.parse(JSON.stringify({ type: "run.sang", ...head(2), version: 4 }));

    expect(run(reduce(start(), event))).toMatchObject({ version: 4, seq: 2 });
  });
});

it("calls a card open while it is judged", () => {
  const statuses = ["judging", "open", "resolved", "expired"] as const;

  expect(statuses.map((status) => isOpen(aDecision({ status })))).toEqual([
    true,
    true,
    false,
    false,
  ]);
});

it("lets a run name the newer policy it follows", () => {
  const state = reduce(start(), moved(2, { policy_version: 4 }));

  expect(run(state)?.policy_version).toBe(4);
  expect(run(reduce(state, moved(3)))?.policy_version).toBe(4);
});

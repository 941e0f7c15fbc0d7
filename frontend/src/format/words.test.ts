import { describe, expect, it } from "vitest";
import { aDecision, aPermission, aRun, NOON } from "../fixtures/rows";
import type { BudgetState } from "../wire/types";
import german from "../messages/de/words";
import { headline } from "./sentence";
import {
  actorName,
  agentLine,
  agentName,
  amountOf,
  answerWords,
  arrivalWords,
  offlineText,
  budgetOf,
  budgetStep,
  budgetWarning,
  burnOf,
  byItself,
  bySomebody,
  costOf,
  decisionShape,
  hasEnded,
  loopCost,
  noLoopCost,
  wholeCost,
  openFrom,
  resumeWords,
  shapeOf,
  sourceOf,
  splitDoing,
  standing,
  shortCardStatus,
  fitsOneLine,
  stateWords,
  ofBudget,
  turnRange,
} from "./words";

const at = (seconds: number) => new Date(Date.parse(NOON) + seconds * 1000);
const iso = (seconds: number) => at(seconds).toISOString();

describe("a run's state", () => {
  it("is flagged when a card is open and it still runs", () => {
    expect(shapeOf(aRun({ open_decisions: 1 }))).toBe("flagged");
    expect(shapeOf(aRun({ open_decisions: 1, status: "held" }))).toBe("held");
  });

  it("says what is asked and what is known", () => {
    const words = (change: Parameters<typeof aRun>[0]) => stateWords(aRun(change), at(0));

    expect(words({ status: "holding" })).toBe("pausing, not confirmed yet");
    expect(words({ status: "stopping" })).toBe("stopping, not confirmed yet");
    expect(words({ status: "held" })).toBe("paused, waiting");
    expect(words({ open_decisions: 1 })).toBe("flagged, still running");
    expect(words({ status: "lost" })).toMatch(
      /^lost contact, last heard at \d\d:\d\d, may still run$/,
    );
    expect(words({ status: "failed" })).toBe("failed");
  });

  it("is told of a session that rests or asks its own person", () => {
    expect(shapeOf(aRun({ presence: "idle" }))).toBe("idle");
    expect(stateWords(aRun({ presence: "waiting" }), at(0))).toBe(
      "waiting for you at its terminal",
    );
    expect(shapeOf(aRun({ presence: "waiting", open_decisions: 1 }))).toBe("waiting");
    expect(shapeOf(aRun({ presence: "idle", status: "held" }))).toBe("held");
  });

  it("has ended or not", () => {
    expect([hasEnded(aRun({ status: "lost" })), hasEnded(aRun({ status: "stopping" }))]).toEqual([
      true,
      false,
    ]);
  });
});

it("says of a run whose agent gave up what its card says", () => {
  const [run, card] = [aRun({ status: "holding" }), aDecision({ gave_up_at: NOON })];

  expect(stateWords(run, at(0))).toBe("pausing, not confirmed yet");
  expect(stateWords(run, at(0), aDecision())).toBe("pausing, not confirmed yet");
  expect(stateWords(run, at(0), card)).toBe(standing(card, run, at(0)));
  expect(stateWords(aRun({ status: "held" }), at(0), card)).not.toMatch(/gave up/);
});

describe("who did it", () => {
  it("is a person by name, and another by its word", () => {
    expect(["ana", "agent", "policy", ""].map(actorName)).toEqual(["ana", "Agent", "Policy", ""]);
    expect(actorName("constructor")).toBe("constructor");
    // Read by somebody else, it would mean the reader.
    expect(actorName("you")).toBe("Owner");
    expect(german.actors.policy).toBe("Richtlinie");
  });
});

describe("money", () => {
  const none = {
    input: 0,
    cache_read: 0,
    cache_write_5m: 0,
    cache_write_1h: 0,
    output: 0,
    reasoning: 0,
  };

  it("is real, unpriced or absent, never a made-up zero", () => {
    expect(costOf(aRun())).toBe("$2.31");
    expect(costOf(aRun({ cost_usd: "0", unpriced_calls: 3 }))).toBe("unpriced");
    expect(costOf(aRun({ cost_usd: "0", usage: none }))).toBe("—");
    expect(costOf(aRun({ cost_usd: "0" }))).toBe("$0.00");
  });

  it("names who said what a run used", () => {
    expect(sourceOf(aRun({ usage_source: "logs" }))).toBe("from the agent’s logs");
    expect(sourceOf(aRun({ usage_source: null }))).toBeUndefined();
  });

  it("in all stands beside a loop's where the two can be told apart", () => {
    const costs = ["2.31", "0.0005", "0.0004", "0"].map((cost_usd) =>
      wholeCost(aRun({ cost_usd })),
    );

    expect(costs).toEqual(["$2.31", "$0.001", null, null]);
    expect(wholeCost(null)).toBeNull();
  });

  it("of a loop is unpriced only when calls were", () => {
    const free = aDecision({ evidence: { ...aDecision().evidence, cost_usd: null } });

    expect(loopCost(aDecision(), null)).toBe("$0.24");
    expect(loopCost(free, aRun({ unpriced_calls: 1 }))).toBe("unpriced");
    expect([loopCost(free, aRun()), loopCost(free, null)]).toEqual([null, null]);
    expect(noLoopCost(aRun({ cost_usd: "0" }))).toBe("no cost reported");
    expect(noLoopCost(aRun({ cost_usd: "2.31" }))).toBe("no cost reported by turn");
  });

  it("does not burn in a run that is quiet or over", () => {
    expect(burnOf(aRun(), at(60))).toBe(5.8);
    expect(burnOf(aRun(), at(301))).toBe(0);
    expect(burnOf(aRun({ last_turn_at: null }), at(0))).toBe(0);
    expect(burnOf(aRun({ status: "held" }), at(0))).toBe(0);
    expect(burnOf(aRun({ status: "holding" }), at(0))).toBe(5.8);
    expect(burnOf(aRun({ status: "completed" }), at(0))).toBe(0);
  });

  it("shows the tightest ceiling", () => {
    const run = aRun({ budget: { usd: "4.62", turns: 4, tokens: null, failures: 3 } });

    expect(budgetOf(run, at(0))).toEqual({ part: 0.75, words: "of 4 turns" });
    expect(budgetOf(aRun(), at(0))).toBeNull();
    expect(budgetOf(aRun({ budget: { seconds: 100 }, ended_at: iso(50) }), at(900))?.part).toBe(
      0.5,
    );
  });

  it("is the judge's money too, and calls", () => {
    const judged = aRun({ budget: { usd: "10" }, cost_usd: "7", judge_cost_usd: "1" });

    expect(budgetOf(judged, at(0))?.part).toBe(0.8);
    expect(
      budgetOf(aRun({ budget: { calls: 4, agents: { critic: { calls: 1 } } } }), at(0))?.part,
    ).toBe(0.75);
  });

  it("warns from four fifths of a ceiling on, of a shared one too", () => {
    const shared: BudgetState = {
      scope: "day",
      whose: "2026-11-21",
      unit: "usd",
      level: "warning",
      spent: "41.00",
      ceiling: "50.00",
      share: 0.82,
    };

    expect(budgetWarning(aRun({ budget: { usd: "10" }, cost_usd: "7.99" }), at(0))).toBe("");
    expect(budgetWarning(aRun({ budget: { usd: "10" }, cost_usd: "8" }), at(0))).toBe(
      "80% of $10.00",
    );
    expect(budgetWarning(aRun({ budget: { usd: "8" }, cost_usd: "10.2" }), at(0))).toBe(
      "128% of $8.00",
    );
    expect(budgetWarning(aRun({ budget_state: shared }), at(0))).toBe("82% of today's $50.00");
    expect(budgetWarning(aRun({ budget_state: shared, status: "completed" }), at(0))).toBe("");
  });

  it("names whose it is", () => {
    expect(ofBudget("run", null, "$5.00")).toBe("of its $5.00");
    expect(ofBudget("agent", "claude-code", "$5.00")).toBe("of Claude Code's $5.00");
    expect([ofBudget("project", null, "$5.00"), ofBudget(null, null, "9 turns")]).toEqual([
      "of the project's $5.00",
      "of its 9 turns",
    ]);
  });

  it("is allowed in round steps", () => {
    const step = (ceiling: string | null, unit: string) =>
      budgetStep({ ...aDecision().evidence, ceiling, unit });

    expect(step("8.00", "usd")).toEqual({ amount: 4, label: "$4" });
    expect(step("0.50", "usd")).toEqual({ amount: 0.25, label: "$0.25" });
    expect(step("25", "turns")).toEqual({ amount: 13, label: "13 turns" });
    expect(step(null, "turns").amount).toBe(1);
    expect([amountOf("90", "seconds"), amountOf("3", null)]).toEqual(["1 min", "3"]);
  });
});

describe("a card", () => {
  it("has the run as its subject", () => {
    expect(headline(aDecision()).rest).toBe(" ran the same test 4 times and got the same error.");
    const other = aDecision({
      evidence: { ...aDecision().evidence, summary: "Two agents disagree." },
    });
    expect(headline(other).rest).toBe(": Two agents disagree.");
  });

  it("says what it does to the agent", () => {
    const now = at(102);
    const held = aDecision({ agent_waiting: true, waiting_since: NOON });

    expect(standing(held, aRun({ status: "held" }), now)).toBe("Paused, waiting for you 1:42");
    expect(shortCardStatus(held, null, now)).toBe("Paused 1:42");
    expect(standing(held, aRun({ status: "held" }), now, null, false)).toBe("Paused 1:42");
    expect(standing({ ...held, kind: "budget" }, null, now)).toBe("Paused at its budget 1:42");
    expect(standing({ ...held, waiting_since: null }, null, now)).toBe("Paused, waiting for you");
    expect(standing(aDecision(), null, now)).toBe("Pausing, not confirmed yet");
    expect(shortCardStatus(aDecision(), null, now)).toBe("Pausing");
    expect(standing(aDecision({ holds: false }), aRun(), now)).toBe("Flagged, still running");
    expect(standing(aDecision({ gave_up_at: NOON }), null, now)).toMatch(/^Agent gave up waiting /);
    expect(standing(held, aRun({ status: "stopping" }), now)).toBe("Stopping, not confirmed yet");
    expect(standing(held, aRun({ status: "failed" }), now)).toBe("The run is failed");
  });

  it("that is no longer known says as of when", () => {
    const held = aDecision({ agent_waiting: true, waiting_since: NOON });

    expect(standing(held, null, at(900), at(60))).toMatch(/^Paused at \d\d:\d\d, as of \d\d:\d\d$/);
  });

  it("of a flagged run that was asked to wait shows that", () => {
    expect(decisionShape(aDecision({ holds: false }), aRun({ status: "holding" }))).toBe("holding");
  });

  it("says what happens by itself", () => {
    const card = aDecision({ expires_at: iso(3600) });

    expect(byItself(aDecision(), at(0))).toBe("");
    expect(byItself(card, at(0))).toMatch(/^stops automatically at \d\d:\d\d$/);
    expect(byItself(card, at(0), true)).toMatch(/^stops \d\d:\d\d$/);
    expect(byItself({ ...card, unanswered: "proceed" }, at(3570))).toBe(
      "continues automatically in 30 s",
    );
    expect(byItself(card, at(3601))).toBe("stops automatically now");
  });

  it("says how it was answered", () => {
    expect(answerWords(aDecision({ resolution: "dismissed" }))).toBe(
      "no loop, according to the judge",
    );
    expect(answerWords(aDecision({ status: "expired" }))).toBe("expired");
  });
});

describe("a turn", () => {
  it("counts from one for people", () => {
    expect([turnRange([33, 37]), turnRange([4]), turnRange([])]).toEqual(["34–38", "5", ""]);
  });
});

it("says who works, and splits what is done", () => {
  expect(agentLine(aRun({ model: "claude-sonnet-4-5-20250929" }))).toBe("Claude Code · sonnet-4-5");
  expect([splitDoing("Bash pytest -q"), splitDoing("stop")]).toEqual([
    ["Bash", "pytest -q"],
    ["stop", ""],
  ]);
  expect(splitDoing('"I will look at "main" first."')).toEqual([
    '“I will look at "main" first.”',
    "",
  ]);
});

describe("what an agent can do", () => {
  const run = (capabilities: Record<string, unknown>) => aRun({ capabilities });

  it("says when a text reaches it", () => {
    expect(arrivalWords(run({ inject: ["at_stop", "at_next_tool"] }), false)).toBe(
      "at its next tool call",
    );
    expect(arrivalWords(run({ inject: ["at_stop"] }), true)).toBe("now");
    expect([arrivalWords(null, false), arrivalWords(run({ inject: "soon" }), false)]).toEqual([
      "next",
      "next",
    ]);
  });

  it("says what becomes of a held call while the server is away", () => {
    expect([offlineText(run({ away: "waits" })), offlineText(run({ away: "blocked" }))]).toEqual([
      "the call keeps waiting",
      "the call is blocked",
    ]);
    expect([offlineText(run({})), offlineText(run({ away: "?" })), offlineText(null)]).toEqual([
      "",
      "",
      "",
    ]);
  });

  it("names the session a parked run goes on with", () => {
    expect(resumeWords(aRun({ key: "claude-code:0491" }))).toBe(
      "parked; resume with claude --resume 0491",
    );
    expect(resumeWords(aRun({ key: null }))).toBe("parked until resumed");
  });

  it("tells a parked agent from one that gave up", () => {
    const gone = aDecision({ gave_up_at: NOON });
    const held = aRun({ status: "holding" });

    expect(standing(gone, held, new Date(NOON))).toMatch(/^Agent gave up waiting/);
    expect(standing({ ...gone, parked: true }, held, new Date(NOON))).toMatch(
      /^Parked until resumed/,
    );
  });
});

describe("a permission that is asked for", () => {
  const card = aPermission({}, { expires_at: iso(3600) });

  it("waits for a person since it was asked, and holds nobody", () => {
    expect(decisionShape(card, aRun())).toBe("waiting");
    expect(standing(card, aRun(), at(102))).toBe("Asks for permission, waiting for you 1:42");
    expect(standing(card, aRun(), at(102), null, false)).toBe("Asks for permission 1:42");
    expect(shortCardStatus(card, aRun(), at(102))).toBe("Asks you 1:42");
    expect(byItself(card, at(0))).toMatch(/^can be answered here until \d\d:\d\d$/);
    expect(openFrom(card)).toBeNull();
  });

  it("makes its run wait for you, not flagged", () => {
    const run = aRun({ open_decisions: 1, presence: "waiting" });

    expect([shapeOf(run), stateWords(run, at(0))]).toEqual(["waiting", "waiting for you"]);
  });

  it("can be allowed at a glance only where all of it stands in one line", () => {
    const whole = (asks: Parameters<typeof aPermission>[0]) =>
      fitsOneLine({ tool: "Bash", text: "ls", details: {}, cut: false, for_run: true, ...asks });

    expect(whole({})).toBe(true);
    expect(whole({ details: { description: "List" } })).toBe(true);
    expect(whole({ details: { content: "x" } })).toBe(false);
    expect(whole({ text: "ls\nrm -r /" })).toBe(false);
    expect(whole({ text: "x".repeat(121) })).toBe(false);
    expect(whole({ cut: true })).toBe(false);
    expect(whole({ text: "" })).toBe(false);
  });

  it("names nobody where its terminal answered", () => {
    expect(bySomebody(aPermission({}, { resolution: "answered" }))).toBe(false);
    expect(bySomebody(aPermission({}, { resolution: "deny" }))).toBe(true);
  });
});

it.each([
  ["claude-code", "Claude Code"],
  ["langgraph", "LangGraph"],
  ["openai-agents", "OpenAI Agents"],
  ["crewai", "CrewAI"],
  ["coder", "coder"],
  ["constructor", "constructor"],
])("calls the agent %s %s", (slug, name) => {
  expect(agentName(slug)).toBe(name);
});

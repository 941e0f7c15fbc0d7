/** Texts for the values of the wire. */
import type { AutofixRow, BudgetState, DecisionRow, Evidence, RunRow, Usage } from "../wire/types";
import { words as t } from "../messages/texts";
import { money, roundMoney, share, whole } from "./numbers";
import { clockTime, since, span, wait } from "./time";

export type Shape =
  | "running"
  | "idle"
  | "waiting"
  | "flagged"
  | "holding"
  | "held"
  | "stopping"
  | "terminated"
  | "completed"
  | "failed"
  | "lost"
  | "recovered";

/** The score that opens a card. */
export const LIMIT = 1;
const MAX_CALL = 120;
const ENDED = new Set(["completed", "failed", "terminated", "lost"]);
const BURN_WINDOW_MS = 5 * 60_000;
// A Map, because an agent may be called "constructor".
const AGENTS = new Map(
  Object.entries({
    "claude-code": "Claude Code",
    codex: "Codex",
    gemini: "Gemini CLI",
    "gemini-cli": "Gemini CLI",
    cursor: "Cursor",
    "claude-agent-sdk": "Claude Agent SDK",
    crewai: "CrewAI",
    langchain: "LangChain",
    langgraph: "LangGraph",
    litellm: "LiteLLM",
    "openai-agents": "OpenAI Agents",
  }),
);

export function hasEnded(run: RunRow): boolean {
  return ENDED.has(run.status);
}

export function shapeOf(run: RunRow): Shape {
  if (run.status !== "running") return run.status;
  if (run.open_decisions > 0 && run.presence !== "waiting") return "flagged";
  return run.presence === "idle" || run.presence === "waiting" ? run.presence : "running";
}

/** Return a run's state. Only its open card knows whether the agent has stopped waiting. */
export function stateWords(run: RunRow, now: Date, card: DecisionRow | null = null): string {
  const shape = shapeOf(run);
  if (shape === "holding" && card?.gave_up_at) return gaveUpWords(card, card.gave_up_at, now);
  if (shape === "waiting" && run.open_decisions > 0) return t.waitingHere;
  return shape === "lost"
    ? t.lostContact(clockTime(run.last_turn_at ?? run.started_at, now))
    : t.status[shape];
}

export function agentName(agent: string): string {
  return AGENTS.get(agent) ?? agent;
}

/** Earliest first. */
const MOMENTS = ["now", "at_next_tool", "at_stop", "when_idle"] as const;

/** Return when a text reaches the agent: at once if it answers a held call, else when it can. */
export function arrivalWords(run: RunRow | null, held: boolean): string {
  const ability = run?.capabilities["inject"];
  const soonest = MOMENTS.find((name) => Array.isArray(ability) && ability.includes(name));
  return t.moments[held ? "now" : (soonest ?? "next")];
}

/** Return what happens to a held call while the server is unreachable; "": not reported. */
export function offlineText(run: RunRow | null): string {
  const ability = run?.capabilities["away"];
  const words: Partial<Record<string, string>> = t.away;
  return typeof ability === "string" ? (words[ability] ?? "") : "";
}

/** Return how to resume a parked session, whose id is in the run's key. */
export function resumeWords(run: RunRow | null): string {
  const session = run?.key?.split(":").slice(1).join(":");
  return session ? t.parkedResumes(session) : t.parked;
}

/** Shorten `claude-sonnet-4-5-20250929` to `sonnet-4-5`. */
export function shortModel(model: string): string {
  return model.replace(/^claude-/, "").replace(/-\d{8}$/, "");
}

export function agentLine(run: RunRow): string {
  return [agentName(run.agent), shortModel(run.model)].filter(Boolean).join(" · ");
}

export function tokensOf(usage: Usage): number {
  const { input, cache_read, cache_write_5m, cache_write_1h, output } = usage;
  return input + cache_read + cache_write_5m + cache_write_1h + output;
}

export function cachedOf(usage: Usage): number {
  return usage.cache_read + usage.cache_write_5m + usage.cache_write_1h;
}

/** Return the cost of a run; an unknown price is a word, never $0. */
export function costOf(run: RunRow): string {
  if (Number(run.cost_usd) > 0) return money(run.cost_usd);
  if (run.unpriced_calls > 0) return t.unpriced;
  return tokensOf(run.usage) > 0 ? money(0) : "—";
}

/** Return the source of the run's usage: only the best one is counted. */
export function sourceOf(run: RunRow): string | undefined {
  return run.usage_source ? t.sources[run.usage_source] : undefined;
}

export function isPriced(run: RunRow): boolean {
  return Number(run.cost_usd) > 0;
}

/** Return the run's cost, which includes the loop's; null: unknown, or too small to differ. */
export function wholeCost(run: RunRow | null): string | null {
  const whole = run && isPriced(run) ? costOf(run) : "<";
  return whole.startsWith("<") ? null : whole;
}

/** Return the cost of the turns of a loop; null: the agent reports no cost of them. */
export function loopCost(decision: DecisionRow, run: RunRow | null): string | null {
  const { cost_usd } = decision.evidence;
  if (cost_usd !== null) return money(cost_usd);
  return run && run.unpriced_calls > 0 ? t.unpriced : null;
}

/** Return why it is unknown: telemetry may report a run's cost without saying which turn cost what. */
export function noLoopCost(run: RunRow | null): string {
  return run && isPriced(run) ? t.noCostByTurn : t.noCost;
}

/** Return current dollars per hour, 0 of an agent that waits: the server's is of its last turns. */
export function burnOf(run: RunRow, now: Date): number {
  const quiet = run.last_turn_at === null || since(run.last_turn_at, now) > BURN_WINDOW_MS;
  return quiet || run.status === "held" || hasEnded(run) ? 0 : Number(run.burn_usd_per_hour);
}

/** Split "Bash pytest -q" into tool and rest; words of the agent become one quotation. */
export function splitDoing(doing: string): [tool: string, rest: string] {
  if (/^".*"$/.test(doing)) return [t.quote(doing.slice(1, -1)), ""];
  const space = doing.indexOf(" ");
  return space < 0 ? [doing, ""] : [doing.slice(0, space), doing.slice(space + 1)];
}

/** Return the call that an agent asks permission for; null: the card is about something else. */
export function permissionOf(decision: DecisionRow): Evidence["asks"] {
  return decision.kind === "permission" ? decision.evidence.asks : null;
}

/** Return whether one line shows the whole call, so that it can be allowed in a small space. */
export function fitsOneLine({ text, details, cut }: NonNullable<Evidence["asks"]>): boolean {
  const more = Object.keys(details).some((name) => name !== "description" && name !== "timeout");
  return !cut && !more && text !== "" && text.length <= MAX_CALL && !text.includes("\n");
}

export function decisionShape(decision: DecisionRow, run: RunRow | null): Shape {
  if (run && (run.status === "stopping" || hasEnded(run))) return run.status;
  if (permissionOf(decision)) return "waiting";
  if (!decision.holds) return run && run.status !== "running" ? run.status : "flagged";
  return decision.agent_waiting ? "held" : "holding";
}

/**
 * Return what the card does to the agent, and for how long; `asOf` if that is no longer known,
 * `isMine` if it waits for the reader.
 */
export function standing(
  decision: DecisionRow,
  run: RunRow | null,
  now: Date,
  asOf: Date | null = null,
  isMine = true,
): string {
  const shape = decisionShape(decision, run);
  const { standing: words } = t;
  const asks = isMine ? words.asksWaiting : words.asks;
  if (shape === "waiting") return `${asks} ${wait(since(decision.opened_at, asOf ?? now))}`;
  if (decision.gave_up_at && shape === "holding")
    return gaveUpWords(decision, decision.gave_up_at, now);
  if (shape === "held" && asOf && decision.waiting_since) {
    return words.heldAsOf(clockTime(decision.waiting_since, now), clockTime(asOf, now));
  }
  const budget = decision.kind === "budget";
  const held = isMine ? words.heldWaiting : words.held;
  if (shape === "held") return `${budget ? words.heldAtBudget : held}${waited(decision, now)}`;
  if (shape === "holding") return budget ? words.holdingAtBudget : words.holding;
  return shape === "flagged" || shape === "stopping"
    ? words[shape]
    : words.theRunIs(t.status[shape]);
}

function gaveUpWords({ parked }: DecisionRow, since: string, now: Date): string {
  const at = clockTime(since, now);
  return parked ? t.standing.parkedSince(at) : t.standing.gaveUp(at);
}

function waited(decision: DecisionRow, now: Date): string {
  return decision.waiting_since ? ` ${wait(since(decision.waiting_since, now))}` : "";
}

/** Return the same, shorter: "Paused 1:42". */
export function shortCardStatus(
  decision: DecisionRow,
  run: RunRow | null,
  now: Date,
  asOf: Date | null = null,
): string {
  const [shape, { standing: words }] = [decisionShape(decision, run), t];
  if (shape === "waiting")
    return `${words.asksShort} ${wait(since(decision.opened_at, asOf ?? now))}`;
  const budget = decision.kind === "budget";
  if (shape === "held" && !asOf && !budget) return `${words.held}${waited(decision, now)}`;
  if (shape === "holding" && !decision.gave_up_at)
    return budget ? words.holdingAtBudgetShort : words.holdingShort;
  return shape === "stopping" ? words.stoppingShort : standing(decision, run, now, asOf);
}

/** Return what happens if nobody answers, and when. */
export function byItself(decision: DecisionRow, now: Date, short = false): string {
  if (!decision.expires_at) return "";
  const left = new Date(decision.expires_at).getTime() - now.getTime();
  const [at, stops, { byItself: words }] = [
    clockTime(decision.expires_at, now),
    decision.unanswered === "stop",
    t,
  ];
  if (permissionOf(decision)) return short ? words.asksUntilShort(at) : words.asksUntil(at);
  if (short) return stops ? words.stopsShort(at) : words.goesOnShort(at);
  if (left <= 0) return stops ? words.stopsNow : words.goesOnNow;
  if (left < 60_000) return stops ? words.stopsIn(span(left)) : words.goesOnIn(span(left));
  return stops ? words.stopsAt(at) : words.goesOnAt(at);
}

/** Return the first turn of the loop of an open card, from which the tape is amber. */
export function openFrom(decision: DecisionRow): number | null {
  const isOpen = decision.status === "open" || decision.status === "judging";
  return isOpen && !permissionOf(decision) ? (decision.evidence.turns[0] ?? null) : null;
}

/** Return the number of a turn as people count; the wire counts from 0. */
export function turnNumber(seq: number): number {
  return seq + 1;
}

export function turnRange(seqs: readonly number[]): string {
  const first = seqs[0];
  const last = seqs.at(-1);
  if (first === undefined || last === undefined) return "";
  const [from, to] = [turnNumber(first), turnNumber(last)];
  return from === to ? whole(from) : `${whole(from)}–${whole(to)}`;
}

/** Format an amount in a budget's unit: `$8.00`, `200 turns`, `30 min`. */
export function amountOf(value: string, unit: string | null): string {
  if (unit === "usd") return money(value);
  if (unit === "seconds") return span(Number(value) * 1000);
  const units: Partial<Record<string, (n: number) => string>> = t.units;
  return units[unit ?? ""]?.(Number(value)) ?? `${whole(Number(value))} ${unit ?? ""}`.trim();
}

/** Return what a tap on "Allow … more" adds: half of the ceiling, rounded. */
export function budgetStep(evidence: Evidence): { amount: number; label: string } {
  const ceiling = Number(evidence.ceiling ?? 0);
  const half = ceiling / 2;
  const fine = evidence.unit === "usd" && half < 1;
  const amount = fine
    ? Math.max(0.01, Math.round(half * 100) / 100)
    : Math.max(1, Math.round(half));
  const label =
    evidence.unit === "usd" ? roundMoney(amount) : amountOf(String(amount), evidence.unit);
  return { amount, label };
}

/** Return an answer in the past tense: "continued". */
export function actionWords(action: string): string {
  const words: Partial<Record<string, string>> = t.done;
  return words[action] ?? action;
}

/** Return who did it: a person by name, anything else by its word in the selected language. */
export function actorName(by: string): string {
  return new Map(Object.entries(t.actors)).get(by) ?? by;
}

/** Return whether somebody here answered; otherwise no name is shown before the answer. */
export function bySomebody(decision: DecisionRow): boolean {
  return decision.resolution !== "answered" && decision.resolution !== "timed_out";
}

/** "Ana continued it" for a person, "no loop, according to the judge" for the rest. */
export function answerWords(decision: DecisionRow): string {
  return decision.resolution ? actionWords(decision.resolution) : decision.status;
}

/** From this share of a ceiling on, the screen shows a warning. */
export const NEAR_BUDGET = 0.8;

/** Return a ceiling and its owner: "of its $5.00", "of coder's $5.00", "of the project's $5.00". */
export function ofBudget(
  scope: BudgetState["scope"] | null,
  whose: string | null,
  amount: string,
): string {
  if (scope === "day") return t.ofToday(amount);
  if (scope === "organisation") return t.ofOrganisation(amount);
  if (scope === "project") return t.ofProject(amount);
  if (scope === "tree") return t.ofTree(amount);
  return whose ? t.ofAgent(agentName(whose), amount) : t.ofIts(amount);
}

/** Return how much of its tightest ceiling, own or shared, a run has used; null: it has none. */
export function budgetOf(run: RunRow, now: Date): { part: number; words: string } | null {
  const used: Record<string, number> = {
    usd: Number(run.cost_usd) + Number(run.judge_cost_usd),
    tokens: tokensOf(run.usage),
    calls: run.calls,
    turns: run.turns,
    seconds: since(run.started_at, run.ended_at ? new Date(run.ended_at) : now) / 1000,
  };
  const parts = Object.entries(run.budget).flatMap(([unit, value]) => {
    const [spent, ceiling] = [used[unit], Number(value)];
    if (spent === undefined || !(ceiling > 0)) return [];
    return [{ part: spent / ceiling, words: t.of(amountOf(String(value), unit)) }];
  });
  if (run.budget_state) {
    const { share: part, scope, whose, ceiling, unit } = run.budget_state;
    if (scope !== "run" || whose) {
      parts.push({ part, words: ofBudget(scope, whose, amountOf(ceiling, unit)) });
    }
  }
  return parts.sort((a, b) => b.part - a.part)[0] ?? null;
}

/** Return "83 % of $10" once a live run nears a ceiling; "" before. */
export function budgetWarning(run: RunRow, now: Date): string {
  const budget = hasEnded(run) ? null : budgetOf(run, now);
  return budget && budget.part >= NEAR_BUDGET ? `${share(budget.part)} ${budget.words}` : "";
}

/** Return the result of an autofix, as far as it is known. */
export function outcomeOf(fix: AutofixRow): string {
  if (fix.recovered === true) return t.outcome.wentOn(fix.turns_after);
  if (fix.recovered === false) return t.outcome.didNotHelp;
  return fix.delivered_at ? t.outcome.delivered : t.outcome.asked;
}

/** Policies: presets, the line, limits, versions. */
import { counted } from "../plural";

const runs = { one: "run", other: "runs" };
const times = { one: "time", other: "times" };
const dayWords = { one: "day", other: "days" };

function timesOf(n: number): string {
  return n === 0 ? "never" : n === 1 ? "once" : counted(n, times);
}
const texts = {
  title: "Policies",
  ofItsOwn: "Each project has a policy of its own.",
  notFetched: "The policy could not be loaded.",
  notFetchedWhy: "It is stored and in force; only this screen could not load it.",
  limits: "Limits",
  onlyOwner: "Only owners can save a policy.",
  mend: (n: number) => `Fix ${counted(n, { one: "value", other: "values" })} to save.`,
  nothingChanged: "No changes.",
  runToSave: "You can save once the runs are replayed.",
  theDefault: "the default",
  inForce: (version: string) => `${version}, in force`,
  draftFrom: (draft: string, from: string, what: string) =>
    `draft ${draft}, from ${from} · ${what}`,
  oneChange: (field: string, before: string, after: string) =>
    `1 change: ${field} ${before} → ${after}.`,
  changes: (n: number) => counted(n, { one: "change", other: "changes" }),
  toMend: (n: number) => `${String(n)} to fix`,
  showAs: "Show as",
  form: "Form",
  toml: "TOML",
  expectedGot: (expected: string, got: string) => `expected ${expected}, got ${got}`,
  expected: (what: string) => `Expected ${what}.`,
  dollars: "a number, such as 5 or 5.50",
  why: "Reason, for the audit log",
  saveAs: (n: number) => `Save as v${String(n)}`,
  save: "Save",
  throwAway: "Discard",
  versions: (n: number) => counted(n, { one: "version", other: "versions" }),
  versionsLabel: "Versions",
  useAsDraft: "Use as draft",
  nothingInForce: "Nothing in force was changed.",
  cannotRead: "The text cannot be parsed yet; fix it there.",
  rule: "Rule",
  today: "Today",
  versionToday: (version: number) => `v${String(version)}, today`,
  draft: "Draft",
  switchedOff: "Rules of disabled detectors",
  presetsLabel: "When it asks you",
  presets: { quiet: "Quiet", balanced: "Balanced", watchful: "Watchful" },
  presetHints: {
    quiet: "Only when it is almost certainly stuck.",
    balanced: "When a careful colleague would check.",
    watchful: "Early, for costly or risky runs.",
  },
  asksByRules: "Asks by its limits only.",
  reach: (n: number, all: number, score: string) =>
    `${String(n)} of ${counted(all, runs)} reached a score of ${score}`,
  andChanges: (n: number) => `+ ${counted(n, { one: "change", other: "changes" })}`,
  limit: {
    call: {
      name: "Repeated call, identical output",
      says: "Asks when a call repeats with identical output this many times.",
    },
    error: {
      name: "Failures in a row",
      says: "Asks at the latest when this many attempts in a row fail or find nothing.",
    },
    circles: { name: "Repeating cycle", says: "Asks when a cycle of steps repeats this often." },
    nothing: {
      name: "No new information",
      says: "Asks at the latest after this many questions without new information.",
    },
    budget: {
      name: "Budget per run",
      says: "Pauses the run at this amount in dollars.",
    },
  },
  less: (name: string) => `${name}: one less`,
  more: (name: string) => `${name}: one more`,
  noBudget: "none",
  whenAsks: "When it asks",
  modes: { warn: "Log only", flag: "Ask, keep running", pause: "Pause", auto: "Correct" },
  modeSays: {
    warn: "The run continues, and nobody is asked.",
    flag: "The run continues while you look.",
    pause: "The run waits.",
    auto: "The judge’s fix is injected. If that fails, the run waits.",
  },
  afterwards: {
    stop: (time: string) => `After ${time} it stops automatically.`,
    proceed: (time: string) => `After ${time} it continues automatically.`,
  },
  advanced: "Advanced",
  values: (n: number, changed: number) =>
    `${counted(n, { one: "value", other: "values" })}, ${changed === 0 ? "none" : String(changed)} changed`,
  whenTrips: "When a detector triggers",
  rungs: { observe: "observe", nudge: "nudge", escalate: "escalate", ask: "ask", stop: "stop" },
  whenNearlySure: "When nearly certain",
  nudges: { observe: "log it", tell: "tell the agent" },
  textHint: "TOML or JSON. Tables for some runs only:",
  units: {
    calls: "calls, identical output",
    cycles: "cycles",
    same: "failures in a row",
    without_results: "calls, output unknown",
    polls: "calls while waiting",
    rounds: "rounds",
    near: "near-identical requests",
    variants: "failing variants",
    refused: "other commands refused",
    questions: "questions, same answer",
    known: "answers already known",
    messages: "messages in a row",
    fresh: "new words per message",
    new_terms: "share of new words",
    embedding: "embedding",
    suspicions: "ask a model",
    every: "turns between questions",
    confidence: "required confidence",
    drought: "attempts without progress",
  },
  names: {
    repeat: "Repeats",
    errors: "Failures",
    talk: "Messages",
    judge: "Judge",
    stagnation: "Stagnation",
  },
  plot: {
    would: (asked: number, days: number) =>
      asked === 0
        ? `Would not have asked you in ${counted(days, dayWords)}.`
        : `Would have asked you ${timesOf(asked)} in ${counted(days, dayWords)}`,
    letContinue: (n: number, asked: number) =>
      n === 0
        ? "."
        : n === asked
          ? asked === 1
            ? "; you let it continue."
            : "; you let all of them continue."
          : `; you let ${String(n)} of them continue.`,
    byLimits: (n: number, asked: number) =>
      `${String(n)} of ${String(asked)} by a limit, not by the score.`,
    today: (at: string, asked: number, continued: number) =>
      `Today’s ${at}: ${timesOf(asked)}${continued > 0 ? `, ${String(continued)} let continue` : ""}.`,
    todayRules: (asked: number, continued: number) =>
      `Today: ${timesOf(asked)}${continued > 0 ? `, ${String(continued)} let continue` : ""}.`,
    earlier: (n: number) =>
      `The draft asks ${counted(Math.abs(n), { one: "turn", other: "turns" })} ${n > 0 ? "earlier" : "later"}.`,
    endThere: "Recordings end where you stopped or corrected a run: it might have asked later.",
    replaying: "Replaying your runs…",
    unknown: "How often it would ask is not known yet.",
    saved: "The draft would have saved",
    savedMore: "more.",
    few: (n: number) =>
      `Only ${counted(n, runs)} recorded; the presets are based on others’ recorded runs.`,
    noRuns: "No runs were recorded in this time; the presets are based on others’ recorded runs.",
    unscored: (n: number) =>
      `${counted(n, runs)} without a recorded score ${n === 1 ? "has" : "have"} no dot.`,
    leftOut: (n: number) =>
      `${counted(n, { one: "older run is", other: "older runs are" })} left out.`,
    label: (n: number) => `${counted(n, runs)} by day and highest stuck score`,
    handle: "Asks you from",
    handleIs: (score: string, asked: number) => `${score}, ${timesOf(asked)}`,
    line: (score: string) => `asks you from ${score}`,
    todayLine: (score: string) => `today ${score}`,
    dayToday: "today",
    dot: (name: string, score: string) => `${name}, ${score}`,
  },
  outcome: {
    corrected: "you corrected or stopped it",
    continued: "you let it continue",
    stopped: "not asked, you stopped it",
    unanswered: "asked, not answered",
    unasked: "not asked",
  },
  adds: "Added by the draft",
  drops: "Dropped by the draft",
  moves: "Changed by the draft",
  ringed: (n: number) => `${counted(n, runs)}, circled above`,
  nothingMoves: "It asks about the same runs as today.",
  noLonger: "no longer asked",
  replaying: (done: number, total: number) =>
    `replaying ${String(done)} of ${counted(total, runs)}`,
  replayed: (n: number, seconds: number) => `${counted(n, runs)} replayed in ${String(seconds)} s`,
  replayFailed: "The replay failed.",
  replayAgain: "Try again",
  notSaved: "The policy was not saved.",
  restored: "Your unsaved changes are back.",
  savedMeanwhile: "Somebody saved another version meanwhile; yours is not saved.",
  onTop: "Your changes now apply to that version.",
  takesTheirsBack: "Saving it now takes back what they changed.",
  notTried: "The replay could not be started.",
  notChecked: "The draft could not be checked.",
};
export default texts;

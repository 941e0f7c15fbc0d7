/** The journal: who did what when, and whether the chain is whole. */
import { counted } from "../plural";

/** What somebody was allowed to do to the log, by the word of the wire. */
const AMENDED: Readonly<Record<string, string>> = {
  erased: "erased the content of a run",
  person_erased: "erased a person's account",
  restored: "restored an older copy of the database",
  rotated: "changed the server's secret",
  imported: "took the project over from another installation",
};

/** Where a fault is: a row's number, and what its kind speaks of. */
export interface FaultPlace {
  row: string;
  what: string;
  found: string;
  expected: string;
}

/** Why a status moved, as it was written down, to who did it. */
const REASONS: Partial<Record<string, string>> = {
  "the agent waits": "waits for the answer",
  "the agent gave up waiting": "continued without an answer",
  "the agent spoke again": "was heard of again",
  "the session ended": "the session ended",
  "the session is parked": "the session is parked",
  "its turn has ended": "its turn has ended",
  "its process was heard of again": "its process was heard of again",
  "its process ended without a word": "its process ended without a word",
  "no sign of life of its process": "no sign of life of its process",
  "nothing heard for 30 minutes": "nothing heard for 30 minutes",
  "nobody answered": "nobody answered",
  "Nobody answered in time.": "nobody answered in time",
  "it told what it can do": "said what it can do",
  "it was asked to finish": "it was asked to finish",
  "a new day began": "a new day began",
  "budget raised": "the budget was raised",
  "no loop": "no loop",
  named: "named the run",
};

/** What became of an answer on its way to the agent. */
const ANSWER: Partial<Record<string, string>> = {
  asked: "is being sent the answer",
  delivered: "received the answer",
  acknowledged: "acted on the answer",
  unreachable: "could not be reached by the answer",
  superseded: "replaced an answer that had not been delivered",
};

const texts = {
  title: "Audit",
  notChecked: "The audit log could not be checked.",
  checking: "Verifying the audit log.",
  whole: "Audit log verified.",
  broken: "Audit log verification failed.",
  rows: (n: number, at: string) => `${counted(n, { one: "row", other: "rows" })} checked ${at}.`,
  brokenAt: (row: string) => `First invalid row: ${row}.`,
  unknown: "unknown",
  head: "Latest hash",
  verify: "Verify",
  verifyAgain: "Verify again",
  checkpoint: (at: string) => `Last signed checkpoint ${at}.`,
  export: "Export",
  who: "Who",
  anyone: "Anyone",
  when: "When",
  times: { any: "Any time", day: "Last 24 h", week: "Last 7 days", month: "Last 30 days" },
  onlyRun: (run: string) => `Only ${run}`,
  allRuns: "All runs",
  only: "This run only",
  before: "before",
  after: "after",
  nothingSet: "nothing set",
  none: "No row matches these filters.",
  dropAll: "Clear filters",
  views: { actions: "Without turns", people: "People", cards: "Cards", all: "Everything" },
  note: "Changing or removing a row breaks every hash after it.",
  notFetched: "The audit log could not be loaded.",
  notFetchedWhy: "It is stored; only this screen could not load it.",
  nothing: "Nothing has been recorded yet. What people, rules and agents do appears here.",
  more: "More",
  erased: "The payload was erased.",
  compared: (since: string) => `Compared with the checkpoints kept since ${since}.`,
  notCompared:
    "There is no checkpoint file to compare with: an older copy of the database would not be noticed.",
  moreFaults: (n: number) => `${counted(n, { one: "more fault", other: "more faults" })}.`,
  faults: {
    changed: ({ row }: FaultPlace) => `Row ${row} was changed: it does not match its hash.`,
    blanked: ({ row }: FaultPlace) =>
      `Row ${row} lost its payload or salt, and no signed erasure allows it.`,
    missing: ({ row }: FaultPlace) => `Rows before row ${row} are missing.`,
    unlinked: ({ row }: FaultPlace) => `Row ${row} does not follow the row before it.`,
    cut: ({ row }: FaultPlace) => `Rows after row ${row} are missing, or the end was rewritten.`,
    unsigned: ({ row }: FaultPlace) =>
      `The checkpoint in row ${row} is not signed with a trusted key.`,
    rewritten: ({ row }: FaultPlace) =>
      `Row ${row} is not the row that was signed: the chain was rewritten.`,
    dropped: ({ row }: FaultPlace) => `Checkpoints before the one in row ${row} were removed.`,
    run_missing: ({ row }: FaultPlace) => `The run was signed up to row ${row} and is gone.`,
    unanchored: ({ row }: FaultPlace) =>
      `Row ${row} is older than the last checkpoint, which does not know it: it was put in afterwards.`,
    erasure: ({ row }: FaultPlace) =>
      `The erasure or restoration in row ${row} is not signed with a trusted key.`,
    run_row: ({ what, found, expected }: FaultPlace) =>
      `The run’s ${what} is ${found}; its events say ${expected}.`,
    turn_changed: ({ what }: FaultPlace) => `Turn ${what} is not what was recorded.`,
    turn_missing: ({ what }: FaultPlace) => `Turn ${what} is missing.`,
    turn_added: ({ what }: FaultPlace) => `No event mentions turn ${what}.`,
    older_copy: ({ what }: FaultPlace) =>
      `The checkpoint file has checkpoint ${what}, the database does not: checkpoints were removed, or an older copy was restored.`,
    other_history: ({ what }: FaultPlace) =>
      `Checkpoint ${what} differs from the one in the checkpoint file: the history was rewritten, or an older copy was restored.`,
    heads_file: ({ what }: FaultPlace) =>
      `Line ${what} of the checkpoint file is not signed with a trusted key.`,
  },
  table: {
    link: "Chain",
    time: "Time",
    who: "Who",
    did: "Action",
    what: "Subject",
    hash: "Hash",
    event: "Event",
    row: "Row",
    version: (seq: number, version: number) => `${String(seq)}, version ${String(version)}`,
    before: "Previous row",
    this: "This row",
    run: "Run",
  },
  noCeiling: "none",
  scopes: {
    run: "each run",
    project: "all runs",
    day: "a day",
    today: "added today",
    organisation: "all projects, a day",
    organisationToday: "all projects, added today",
    agents: "agent",
  },
  things: {
    channel: (name: string) => `the channel “${name}”`,
    device: (name: string) => `the device “${name}”`,
    view: (name: string) => `the saved view “${name}”`,
  },
  reasons: REASONS,
  did: {
    opened: "opened the run",
    moved: (status: string) => `changed the run’s status${status && `: ${status}`}`,
    mode: (mode: string) => `set the mode to ${mode}`,
    reported: (status: string) => `reported ${status}`,
    linked: "linked the run to its parent",
    imported: (file: string) => `imported a recording, ${file}`,
    recorded: (turn: string) => `recorded turn ${turn}`,
    completed: (turn: string) => `completed turn ${turn}`,
    raised: (what: string, turn: string) => `flagged turn ${turn} (rule: ${what})`,
    escalate: "asked to escalate",
    askedLocal: "asked the local judge",
    asked: (judge: string) => `asked the judge ${judge}`,
    ruled: (loop: boolean, confidence: string) =>
      `ruled ${loop ? "a loop" : "no loop"}${confidence}`,
    card: "opened a card",
    closed: (action: string) => `closed the card: ${action}`,
    stoppedWaiting: "gave up waiting",
    queued: (text: string) => `queued “${text}”`,
    messaged: "sent a message",
    took: "received the message",
    injected: (text: string) => `injected “${text}”`,
    wentOn: "recovered after the fix",
    didNotGoOn: "did not recover after the fix",
    stoppedCounting: (source: string) =>
      `stopped counting cost from ${source}: a better source is available`,
    counted: (source: string) => `counted cost from ${source}`,
    reached: (ceiling: string, unit: string) => `reached ${ceiling} ${unit}`,
    ended: "ended the run",
    answer: ANSWER,
    stopping: "asked the run to end",
    paused: "paused the run",
    restarted: "restarted the run",
    endedWith: (lead: string) => `asked the run to end with “${lead}”, which started it`,
    hadTurns: (turns: string) => `asked the run to end: it had ${turns} turns to finish`,
    allowlist: (change: string, pattern: string) => `${change} “${pattern}”`,
    changed: (what: string) => `changed ${what}`,
    loweredBudget: (figures: string) => `undid the raise: budget ${figures}`,
    raisedBudget: (figures: string) => `raised budget ${figures}`,
    changedBudget: (figures: string) => `changed budget: ${figures}`,
    added: (thing: string) => `added ${thing}`,
    removed: (thing: string) => `removed ${thing}`,
    altered: (thing: string) => `changed ${thing}`,
    access: "changed access",
    accessed: (sentence: string) =>
      sentence.replace(/^signed in “(.*)” by (.*)$/s, (_, browser: string, way: string) =>
        browser === "a browser" ? `signed in with ${way}` : `signed in on “${browser}” with ${way}`,
      ),
    anchored: "signed the log up to here (checkpoint)",
    amended: (change: string, reason: string) => `${AMENDED[change] ?? change}: ${reason}`,
    notice: (channel: string) => `sent a notification via ${channel}`,
    noticeFailed: (channel: string) => `could not send a notification via ${channel}`,
  },
};
export default texts;

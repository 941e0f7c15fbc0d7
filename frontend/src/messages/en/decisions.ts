/** Decisions: the queue, several at once, what was answered. */
import { counted } from "../plural";

const texts = {
  title: "Decisions",
  queue: "Queue",
  open: (n: number) => counted(n, { one: "open", other: "open" }),
  order: "paused first, oldest first",
  nothing: "Nothing needs you. A card opens here when something does.",
  endsSoon: "Ending soon",
  select: "Select",
  selectOne: (run: string) => `Select ${run}`,
  selectAll: "All",
  done: "Done",
  selected: (n: number) => counted(n, { one: "card selected", other: "cards selected" }),
  chooseSome: "Select the cards that get the same answer.",
  sameAnswer: "The same answer for each, at the version shown.",
  together: {
    continue: (n: number) => `Continue ${String(n)}`,
    terminate: (n: number) => `Terminate ${String(n)}`,
    endsIn: (seconds: number) => `Ends in ${String(seconds)} s`,
  },
  second: {
    continue: "resume all, counters reset",
    terminate: "after 5 s, or tap again",
    againNow: "tap again: end now",
    none: "none of them supports it",
    not: (n: number) => counted(n, { one: "cannot", other: "cannot" }),
  },
  cannotContinue: "has spent its budget: answer on its card",
  similar: "stuck score",
  changed: "something changed",
  answered: "Answered",
  lastDay: (n: number) => `${String(n)} in the last 24 h`,
  medianAfter: (span: string) => `median ${span} to answer`,
  gone: "This card is no longer here.",
  goneWhy: "It was answered more than a day ago, or you have no access.",
  all: "All decisions",
  otherwise: "Answers without swiping",
  /** Where nothing needs an answer. */
  calm: {
    label: "Needs you",
    title: "Nothing needs you.",
    idle: "Nothing is running.",
    lastCard: (ago: string, what: string) => `Last card ${ago} ago: ${what}.`,
    opensHere: "A card opens here when something needs you.",
    story: {
      inject: (who: string, run: string) => `${who} injected a fix in ${run}`,
      injectWorked: (who: string, run: string) =>
        `${who} injected a fix in ${run} and it recovered`,
      answered: (who: string, action: string, run: string) => `${who} ${action} ${run}`,
      allowlist: (who: string, run: string) => `${who} allowlisted a call of ${run}`,
      more: (who: string, run: string) => `${who} allowed ${run} more budget`,
      finish: (who: string, run: string) => `${who} asked ${run} to finish`,
      autofix: (run: string) => `an autofix was injected in ${run}`,
      other: (run: string, action: string) => `${run}: ${action}`,
      you: "you",
    },
  },
};
export default texts;

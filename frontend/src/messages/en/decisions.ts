/** Decisions: the queue, several at once, what was answered. */
import { counted } from "../plural";
import { source } from "../speech.svelte";

export default source("decisions", {
  title: "Decisions",
  queue: "Queue",
  open: (n: number) => counted(n, { one: "open", other: "open" }),
  order: "held first, oldest first",
  nothing: "Nothing needs you. A card opens here when something does.",
  endsSoon: "Ends in a moment",
  select: "Select",
  selectOne: (run: string) => `Select ${run}`,
  selectAll: "All",
  done: "Done",
  selected: (n: number) => counted(n, { one: "card selected", other: "cards selected" }),
  chooseSome: "Tap the cards that get the same answer.",
  sameAnswer: "The same answer for each, at the version you see.",
  together: {
    continue: (n: number) => `Continue ${String(n)}`,
    terminate: (n: number) => `Terminate ${String(n)}`,
    endsIn: (seconds: number) => `Ends in ${String(seconds)} s`,
  },
  second: {
    continue: "each runs on, new count",
    terminate: "after 5 s, or tap again",
    againNow: "tap again: now",
    none: "none of them offers it",
    not: (n: number) => counted(n, { one: "cannot", other: "cannot" }),
  },
  cannotContinue: "has spent its budget: answer it on its card",
  similar: "similar to earlier turns",
  changed: "something changed",
  answered: "Answered",
  lastDay: (n: number) => `${String(n)} in the last day`,
  medianAfter: (span: string) => `median after ${span}`,
  gone: "This card is not here any more.",
  goneWhy: "It was answered more than a day ago, or is not yours to see.",
  all: "All decisions",
  otherwise: "Answers without a swipe",
});

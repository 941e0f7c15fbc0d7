/** Autofixes: what was injected without a tap. */
import { counted } from "../plural";
import { source } from "../speech.svelte";

export default source("autofixes", {
  title: "Autofixes",
  notFetched: "The autofixes could not be fetched.",
  notFetchedWhy: "What was injected stands in the journal.",
  nothing: "Nothing was injected without a tap.",
  nothingWhy: "Runs in mode auto correct themselves; each correction stands here with what followed.",
  toPolicies: "To Policies",
  wentOn: "Went on after a fix",
  wentOnShown: "Went on after a fix, of those shown",
  judged: (wentOn: number, judged: number) => `${String(wentOn)} of ${String(judged)} judged`,
  notJudged: (n: number) => `; ${String(n)} not judged yet`,
  quote: (text: string) => `“${text}”`,
  byKind: "By what had tripped",
  of: (wentOn: number, judged: number) => `${String(wentOn)} of ${String(judged)}`,
  theCard: "the card",
  more: "More",
  note: "“Went on” means: no new trip and new information within 5 turns. Would you have liked to see the text first? Switch the run or the project from auto to pause.",
  outcome: {
    wentOn: (n: number) => `went on, judged after ${counted(n, { one: "turn", other: "turns" })}`,
    didNotHelp: "did not help",
    notJudged: "not judged yet",
    notDelivered: "not delivered yet",
  },
  pin: "auto injected",
  pinText: (text: string) => `: “${text}”`,
});

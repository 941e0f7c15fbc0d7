/** Autofixes: what was injected without a tap. */
import { counted } from "../plural";

const texts = {
  title: "Autofixes",
  notFetched: "The autofixes could not be loaded.",
  notFetchedWhy: "The audit log has every correction.",
  nothing: "No autofixes yet.",
  nothingWhy:
    "Runs in mode Auto are corrected without a tap; each correction and its outcome appear here.",
  toPolicies: "To Policies",
  wentOn: "Recovery rate",
  wentOnShown: "Recovery rate of those shown",
  judged: (wentOn: number, judged: number) => `${String(wentOn)} of ${String(judged)} judged`,
  notJudged: (n: number) => `; ${String(n)} not judged yet`,
  byKind: "By trigger",
  of: (wentOn: number, judged: number) => `${String(wentOn)} of ${String(judged)}`,
  theCard: "the card",
  beforeAndAfter: "Before and after",
  before: "Before the fix",
  after: "After the fix",
  noTurns: "No turn yet.",
  skipped: "not run",
  turnsNotFetched: "The turns could not be loaded.",
  more: "More",
  note: "Recovered: no new trigger and new information within 5 turns. To review fixes before they are injected, switch the run or project from Auto to Pause.",
  outcome: {
    wentOn: (n: number) => `recovered, judged after ${counted(n, { one: "turn", other: "turns" })}`,
    didNotHelp: "did not help",
    notJudged: "not judged yet",
    notDelivered: "not delivered yet",
  },
};
export default texts;

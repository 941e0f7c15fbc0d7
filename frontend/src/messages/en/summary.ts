/** What a run did, in plain words. */
import { counted } from "../plural";

const texts = {
  label: "What happened",
  rows: {
    status: "Status",
    asked: "Asked",
    whole: "In all",
    hour: "Last hour",
    minutes: "Last 10 min",
  },
  hourTo: (time: string) => `Hour to ${time}`,
  minutesTo: (time: string) => `10 min to ${time}`,
  more: "Show all",
  less: "Show less",
  compare: "Compare with another run",
  then: (text: string) => `then: ${text}`,
  paused: (who: string, at: string) => `${who} paused it at ${at}`,
  working: (what: string) => `working on ${what}`,
  lastSeen: (what: string) => `last seen working on ${what}`,
  calls: (n: number) => counted(n, { one: "call", other: "calls" }),
  none: "no calls",
  kinds: {
    file_edit: (n: number) => counted(n, { one: "edit", other: "edits" }),
    test_run: (n: number) => counted(n, { one: "test run", other: "test runs" }),
    shell_exec: (n: number) => counted(n, { one: "command", other: "commands" }),
    search: (n: number) => counted(n, { one: "search", other: "searches" }),
    read: (n: number) => counted(n, { one: "read", other: "reads" }),
    message: (n: number) => counted(n, { one: "message", other: "messages" }),
    other: (n: number) => counted(n, { one: "other call", other: "other calls" }),
  },
  kind: (n: string, name: string) => `${n} × ${name}`,
  failed: (n: string) => `${n} failed`,
  files: (n: number) => counted(n, { one: "file changed", other: "files changed" }),
  file: (path: string, times: string) => `${path} ×${times}`,
  moreFiles: (n: string) => `and ${n} more`,
  passed: "the last tests passed",
  failedTests: (n: number) =>
    `the last tests failed${n > 0 ? `: ${counted(n, { one: "failure", other: "failures" })}` : ""}`,
  lastPassed: "passed before",
  commits: (n: number) => counted(n, { one: "commit", other: "commits" }),
  untitled: "commit",
  spent: (amount: string) => `${amount} spent`,
  lately: (n: string) => `files, tests and commits of the last ${n} turns`,
  toTurn: (what: string, turn: string) => `${what}, turn ${turn}`,
  notFetched: "What happened could not be loaded.",
};
export default texts;

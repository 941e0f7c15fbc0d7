/** Settings: this installation. */
import { counted } from "../plural";

const texts = {
  title: "This instance",
  version: "Version",
  python: (version: string) => `Python ${version}`,
  health: "Health",
  well: "OK",
  away: "not responding",
  parts: { database: "Database", broker: "Broker", worker: "Worker" },
  workerIdle: "Turns are stored, but not analyzed until it is back.",
  data: "Data location",
  folder: "Folder",
  size: "Database",
  disk: "Free disk space",
  diskOf: (free: string, all: string) => `${free} of ${all}`,
  holds: "Contents",
  runs: (runs: string, turns: string, events: string) =>
    `${runs} runs, ${turns} turns, ${events} audit rows`,
  deliveries: "Deliveries",
  keptDays: (days: number) =>
    `deleted ${counted(days, { one: "day", other: "days" })} after they were created; the audit log keeps them`,
  keptForEver: "kept forever",
  behind: "Backlog",
  nothing: "0",
  waiting: (n: string) => `${n} observations to analyze`,
  unindexed: (n: string) => `${n} runs to index`,
  reach: "Network",
  address: "Public address",
  noAddress: "none: links in notifications need --public-url",
  https: "HTTPS",
  secure: "yes: can be installed, and phones get push notifications",
  insecure: "no: traffic is not encrypted, and phones get no push notifications (up --https)",
  contact: "Contact for push services",
  noContact: "none",
  contactProblem: {
    none: "Apple's push service refuses pushes that name nobody: set VAPID_SUBJECT to mailto:you@your.domain, or --public-url to an https address.",
    form: "VAPID_SUBJECT is neither mailto:you@your.domain nor an https address, and is left out. Apple's push service refuses such pushes.",
    local:
      "Nobody outside can reach this address: Apple's push service refuses pushes that name it. Set VAPID_SUBJECT to another.",
  },
  limits: "Limits",
  limitKinds: {
    runs: "Opening runs",
    turns: "Turns and hooks",
    otlp: "Telemetry",
    taps: "Taps",
  },
  aMinute: (key: string, address: string) =>
    `${key} requests a minute of one key, ${address} of one address`,
  unlimited: "any number",
  oneRequest: "One request",
  bodies: (agent: string, person: string) => `${agent} of an agent, ${person} without its key`,
  openings: "Runs opened at once",
  whoMeets: "Who comes near",
  nobodyMeets:
    "No key of your projects has sent anything in the last minute, and none was refused.",
  use: (kind: string, requests: number, runs: number) =>
    `${kind}: ${counted(requests, { one: "request", other: "requests" })} in the last minute, ${counted(runs, { one: "run", other: "runs" })} open`,
  refused: (times: number) => `refused ${counted(times, { one: "time", other: "times" })}`,
  again: "Check again",
  ownersOnly: "Only an owner sees where the data is.",
  failed: "The instance did not answer.",
};
export default texts;

/** Now: what needs a person, what runs and what it costs, and the first start. */
import { counted } from "../plural";

const texts = {
  title: "Now",
  needsYou: "Needs you",
  queued: (n: number) => (n > 1 ? `${String(n)} · paused first, oldest first` : "1 card"),
  toMove: "to move,",
  toOpen: "to open",
  running: "Running",
  fastest: "highest spend per hour first",
  orderHeld: "order fixed while you point",
  redlining: (n: number) => `${String(n)} above usual first, then highest spend per hour`,
  held: (n: number) => `paused ${String(n)}`,
  lost: (n: number) => `lost contact ${String(n)}`,
  endedToday: (n: number) => `ended today ${String(n)}`,
  saved: (usd: string) => `saved by stops ≈ ${usd}`,
  savedUnknown: (stops: number) =>
    `${counted(stops, { one: "stop", other: "stops" })} today, no estimate yet`,
  savedHow: "How this is estimated",
  runs: "Running now",
  run: "Run",
  doingNow: "Doing now",
  lastTurns: "Last 44 turns",
  turns: "Turns",
  tokens: "Tokens",
  cost: "Cost",
  perHour: "$ per hour ↓",
  budget: "Budget",
  noBudget: "none",
  noTurn: "no turn yet",
  aHour: "/h",
  timesUsual: (times: string) => `${times}× usual`,
  usualIs: (usual: string) => `${usual} per hour is the median of this agent’s recorded runs`,
  asOf: (at: string) => `as of ${at}`,
  find: {
    label: "Search running runs",
    placeholder: "Name, agent, command, status",
    none: "No running run matches.",
    inHistory: "Search all runs",
  },
};
export default texts;

/** What a turn or a person did, and the result, in one line each. Pure. */
import { words as t } from "../messages/texts";
import type { DecisionRow, InterventionRow, RunRow, TurnRow } from "../wire/types";
import { actionWords, permissionOf, hasEnded } from "./words";

/** Return what a turn did in one line: the tool and its arguments. */
export function turnWords(turn: TurnRow): { tool: string; rest: string } {
  if (!turn.tool) return { tool: "", rest: (turn.content ?? "").trim() };
  return { tool: turn.tool, rest: argsLine(turn.args) };
}

const MAIN_ARGS = [
  "command",
  "file_path",
  "path",
  "pattern",
  "query",
  "url",
  "prompt",
  "description",
];

function argsLine(args: TurnRow["args"]): string {
  if (!args) return "";
  const main = MAIN_ARGS.map((name) => args[name]).find((value) => typeof value === "string");
  if (typeof main === "string") return main.split("\n")[0] ?? "";
  const [first, ...rest] = Object.values(args);
  if (first === undefined) return "";
  if (rest.length === 0 && typeof first !== "object") return String(first);
  return JSON.stringify(args);
}

/** Return the line of an error that names it. */
export function errorName(text: string): string {
  const marked = text
    .split("\n")
    .filter((line) => /^E\s/.test(line))
    .join("\n");
  const named = (marked || text).match(/\b[A-Z][A-Za-z]*(?:Error|Exception)\b/g);
  const last = named?.at(-1); // a traceback ends with what went wrong
  if (last) return last;
  return (
    text
      .split("\n")
      .find((line) => line.trim() !== "")
      ?.trim() ?? text
  );
}

/** Return a turn's result in a few words. */
export function resultWords(turn: TurnRow): string {
  const lines = (turn.result ?? "").split("\n").filter((line) => line.trim() !== "");
  if (lines.length === 0) return "";
  return lines.length === 1 ? (lines[0] ?? "").trim() : t.lines(lines.length);
}

export type Pending = "asks" | "denied" | "heldBefore" | "untold" | "running";

/** Return the state of a call without a reported end; `cards` are those of its run. */
export function pendingOf({ seq }: TurnRow, run: RunRow, cards: readonly DecisionRow[]): Pending {
  const asking = cards.findLast((card) => permissionOf(card) && card.evidence.turns.includes(seq));
  if (asking?.status === "open") return "asks";
  // An agent reports nothing further about a call that was denied.
  if (asking?.resolution === "deny") return "denied";
  if (run.status === "held" || run.status === "holding") return "heldBefore";
  const nobodyWorks = run.presence === "idle" || run.presence === "gone";
  return hasEnded(run) || nobodyWorks ? "untold" : "running";
}

/** Return what a person did: a text to an agent without a holding card is a message, no fix. */
export function interventionWords({
  action,
  decision,
}: Pick<InterventionRow, "action" | "decision">): string {
  return action === "inject" && decision === null ? t.messaged : actionWords(action);
}

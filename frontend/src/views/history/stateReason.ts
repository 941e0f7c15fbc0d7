/** Why a run has its state, in a few words. */
import { record, words as t } from "../../messages/texts";
import { clockTime } from "../../format/time";
import type { HistoryRow } from "../../wire/types";

type Standing = Pick<HistoryRow, "status" | "why" | "last_turn_at" | "started_at">;

export interface StateReason {
  text: string;
  /** `quiet`: nothing happened; `fixed`: an autofix worked. */
  tone: "plain" | "quiet" | "fixed";
}

/** `nameOf` returns "You" for the signed-in person. */
export function stateReasonOf(
  run: Standing,
  now: Date,
  nameOf: (by: string) => string,
): StateReason {
  const { why } = run;
  if (why.recovered === true) return { text: t.why.fixed(why.turns_after ?? 0), tone: "fixed" };
  if (run.status === "lost")
    return plain(t.why.lost(clockTime(run.last_turn_at ?? run.started_at, now)));
  if (why.kind === "" && why.resolution === null) return reasonWithoutCard(run);
  return plain(cardReason(run, why.by === null ? t.why.nobody : nameOf(why.by)));
}

function reasonWithoutCard(run: Standing): StateReason {
  if (run.status === "completed") return { text: t.why.completed, tone: "quiet" };
  if (run.status === "failed") return plain(t.why.failed);
  return { text: run.status === "running" ? t.why.working : "", tone: "quiet" };
}

function cardReason(run: Standing, who: string): string {
  const { why } = run;
  const summary = record.sentence(why.summary);
  if (why.resolution === null) return summary;
  if (why.resolution === "autofix") return why.recovered === false ? t.why.notFixed : t.why.autofix;
  if (why.resolution === "terminate") return t.why.by(who, summary || t.why.ended);
  const resolved = t.why.resolved[why.resolution];
  return typeof resolved === "function" ? resolved(who) : resolved;
}

function plain(text: string): StateReason {
  return { text, tone: "plain" };
}

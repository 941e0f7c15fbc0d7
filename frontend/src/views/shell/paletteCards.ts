/** The palette's entries for cards: links to them, their answers, and ending a run. */
import { controller } from "../../card/controller.svelte";
import { hasEnded, stateWords } from "../../format/words";
import { palette as t } from "../../messages/texts";
import { decisionPath } from "../../route";
import { router } from "../../router.svelte";
import { appState } from "../../sync/appState.svelte";
import { clock } from "../../sync/clock.svelte";
import type { DecisionRow, RunRow } from "../../wire/types";
import { cardActionsOf, type Entry } from "./palette";

export function action(id: string, label: string, act: () => void): Entry {
  return { id, kind: "action", label, detail: "", act };
}

export function cardEntry({ id, run: runId, run_name }: DecisionRow): Entry {
  const run = appState.run(runId);
  return {
    id: `card ${id}`,
    kind: "card",
    label: run_name,
    detail: run ? stateWords(run, clock.now, appState.cardOf(runId)) : "",
    act: () => router.go(decisionPath(id)),
  };
}

/** Return the answers of a card. A long text is sent only from where it is shown in full. */
export function answerEntries(decision: DecisionRow): Entry[] {
  const isFocused = controller.focused?.id === decision.id;
  return cardActionsOf(decision, appState.run(decision.run), controller.fix(decision))
    .filter(({ action: what }) => what !== "terminate")
    .map(({ action: what, words, second, command, text, isRead }): Entry => {
      const reads = what === "inject" ? t.readFix : t.readCall;
      const called = isRead ? reads : words;
      return {
        id: `${what} ${decision.id}`,
        kind: "action",
        label: t.does(called, decision.run_name),
        detail: isRead ? "" : second,
        command: isFocused && !isRead && command ? command : undefined,
        text: isRead ? undefined : text,
        answers: { called, run: decision.run_name },
        act: isRead
          ? () => router.go(decisionPath(decision.id))
          : () => controller.answer(decision, what),
      };
    });
}

/** Return the entry that ends a run; it counts down and can be undone like the button. */
export function endEntries(run: RunRow): Entry[] {
  if ("terminate" in run.unavailable || run.status === "stopping" || hasEnded(run)) return [];
  const card = appState.open.find(
    ({ run: id, actions }) => id === run.id && actions.includes("terminate"),
  );
  return [
    {
      ...action(`terminate ${run.id}`, t.ends(run.name), () =>
        card ? controller.answer(card, "terminate") : controller.act(run, "terminate"),
      ),
      detail: t.endsIn,
      isLast: true,
    },
  ];
}

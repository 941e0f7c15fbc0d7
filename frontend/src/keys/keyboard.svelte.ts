/** Keys act on the focused card only, and never while typing. */
import { actionOf } from "../card/answers";
import { controller } from "../card/controller.svelte";
import { runPath } from "../route";
import { router } from "../router.svelte";
import { BAR_MS } from "../sync/taps.svelte";
import { appState } from "../sync/appState.svelte";
import { commandOf, startsGoTo, type Command, type KeyContext } from "./keymap";

const GO_MS = 1_200;

/** Moves in the list of a run's turns. */
export type Move =
  | "next"
  | "previous"
  | "first"
  | "last"
  | "page on"
  | "page back"
  | "next match"
  | "previous match";

export interface Handlers {
  keys: () => void;
  fold: () => void;
  message: () => void;
  move: (to: Move) => void;
}

export class Keyboard {
  readonly #handlers: Handlers;
  #goneAt = -Infinity;

  constructor(handlers: Handlers) {
    this.#handlers = handlers;
  }

  press(event: KeyboardEvent): void {
    // A held Enter repeats its press, and a second press of Terminate would end the run at once.
    if (event.repeat && event.key === "Enter" && event.target instanceof HTMLButtonElement)
      return event.preventDefault();
    if (document.querySelector("dialog[open]")) return;
    const where = this.#where(event.target);
    const command = commandOf(event, where);
    this.#goneAt = startsGoTo(event, where) && !where.afterG ? Date.now() : -Infinity;
    if (command === null) return;
    if (command !== "leave") event.preventDefault();
    this.#obey(command);
  }

  #where(target: EventTarget | null): KeyContext {
    const element = target instanceof HTMLElement ? target : null;
    const typing = element?.matches("textarea, select, input:not([type=radio], [type=checkbox])");
    return {
      typing: typing ?? false,
      onControl: element?.closest("a, button, summary") !== null && element !== null,
      afterG: Date.now() - this.#goneAt < GO_MS,
      inRun: router.route.name === "run",
    };
  }

  #obey(command: Command): void {
    const card = controller.focused;
    switch (command) {
      case "next":
      case "previous":
        if (router.route.name === "run") return this.#handlers.move(command);
        return controller.step(command === "next" ? 1 : -1);
      case "turn after":
        return this.#handlers.move("next");
      case "turn before":
        return this.#handlers.move("previous");
      case "first":
      case "last":
      case "page on":
      case "page back":
      case "next match":
      case "previous match":
        return this.#handlers.move(command);
      case "open":
        return card ? router.go(runPath(card.run)) : undefined;
      case "select":
        return card && router.route.name === "decisions" ? controller.select(card.id) : undefined;
      case "edit":
        return card && (card.actions.includes("inject") || card.actions.includes("deny"))
          ? controller.edit(card)
          : undefined;
      case "undo":
        return this.#undo();
      case "fold":
        return this.#handlers.fold();
      case "message":
        return this.#handlers.message();
      case "search":
        return document.querySelector<HTMLElement>("[data-search]")?.focus();
      case "keys":
        return this.#handlers.keys();
      case "leave":
        return this.#leave();
      case "go now":
        return router.go("/");
      case "go decisions":
      case "go history":
      case "go costs":
      case "go policies":
      case "go audit":
        return router.go(`/${command.slice(3)}`);
      default:
        return this.#answer(command);
    }
  }

  #answer(
    command:
      | "terminate"
      | "continue"
      | "allowlist"
      | "inject"
      | "allow budget"
      | "hold"
      | "finish"
      | "allow once"
      | "deny",
  ): void {
    if (controller.isSettling) return;
    // With several cards selected, the bar that answers all of them replaces the single card.
    if (router.route.name === "decisions" && controller.selected.length > 1)
      return this.#answerSeveral(command);
    const card = this.#cardInSight();
    if (!card) return;
    const action = actionOf(command, card.actions);
    if (action !== null) controller.answer(card, action);
  }

  /** With several cards selected, keys that answer a single card do nothing. */
  #answerSeveral(command: string): void {
    if (command === "continue" || command === "terminate") controller.answerSelected(command);
  }

  /** Return the card that has the keyboard, which must be drawn; null: there is none. */
  #cardInSight() {
    const { route } = router;
    const card = controller.focused;
    // A screen and its cards are loaded after the board; until then nothing can be answered.
    if (!card || !document.querySelector(`[data-card="${card.id}"]`)) return null;
    if (route.name === "run") return card.run === route.id ? card : null;
    return route.name === "now" || route.name === "decisions" ? card : null;
  }

  #undo(): void {
    const { all } = appState.taps;
    const counting = all.findLast(({ phase }) => phase === "counting");
    const last = counting ?? all.at(-1);
    // Only while its bar is shown, so that an old answer is not undone unseen.
    if (last && controller.canUndo(last) && (counting || Date.now() - last.madeAt < BAR_MS))
      controller.undo(last);
  }

  #leave(): void {
    controller.leaveSelection();
    controller.stopEditing();
    if (document.activeElement instanceof HTMLElement) document.activeElement.blur();
  }
}

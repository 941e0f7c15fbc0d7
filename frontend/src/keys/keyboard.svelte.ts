/** Keys act on the focused card only, and never while typing. */
import { actionOf } from "../card/answers";
import { desk } from "../card/desk.svelte";
import { runPath } from "../route";
import { router } from "../router.svelte";
import { world } from "../sync/world.svelte";
import { commandOf, startsGo, type Command, type Where } from "./keymap";

const GO_MS = 1_200;

/** Ways through the list of a run's turns. */
export type Move = "next" | "previous" | "first" | "last" | "page on" | "page back" | "next match" | "previous match";

export interface Deeds {
  keys: () => void;
  fold: () => void;
  move: (to: Move) => void;
}

export class Keyboard {
  readonly #deeds: Deeds;
  #goneAt = -Infinity;

  constructor(deeds: Deeds) {
    this.#deeds = deeds;
  }

  press(event: KeyboardEvent): void {
    if (document.querySelector("dialog[open]")) return;
    const where = this.#where(event.target);
    const command = commandOf(event, where);
    this.#goneAt = startsGo(event, where) && !where.afterG ? Date.now() : -Infinity;
    if (command === null) return;
    if (command !== "leave") event.preventDefault();
    this.#obey(command);
  }

  #where(target: EventTarget | null): Where {
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
    const card = desk.focused;
    switch (command) {
      case "next":
      case "previous":
        if (router.route.name === "run") return this.#deeds.move(command);
        return desk.step(command === "next" ? 1 : -1);
      case "turn after":
        return this.#deeds.move("next");
      case "turn before":
        return this.#deeds.move("previous");
      case "first":
      case "last":
      case "page on":
      case "page back":
      case "next match":
      case "previous match":
        return this.#deeds.move(command);
      case "open":
        return card ? router.go(runPath(card.run)) : undefined;
      case "select":
        return card && router.route.name === "decisions" ? desk.select(card.id) : undefined;
      case "edit":
        return card?.actions.includes("inject") ? desk.edit(card) : undefined;
      case "undo":
        return this.#undo();
      case "fold":
        return this.#deeds.fold();
      case "search":
        return document.querySelector<HTMLElement>("[data-search]")?.focus();
      case "keys":
        return this.#deeds.keys();
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

  #answer(command: "terminate" | "continue" | "allowlist" | "inject" | "hold" | "finish"): void {
    const card = this.#cardInSight();
    if (!card || desk.isSettling) return;
    if (router.route.name === "decisions" && desk.selected.length > 1) return this.#answerSeveral(command);
    const action = actionOf(command, card.actions);
    if (action !== null) desk.answer(card, action);
  }

  /** With several selected, a key that answers one card answers none. */
  #answerSeveral(command: string): void {
    if (command === "continue" || command === "terminate") desk.answerSelected(command);
  }

  /** A card has the keys only where it is drawn. */
  #cardInSight() {
    const { route } = router;
    const card = desk.focused;
    if (route.name === "run") return card?.run === route.id ? card : null;
    return route.name === "now" || route.name === "decisions" ? card : null;
  }

  #undo(): void {
    const counting = world.taps.all.findLast(({ phase }) => phase === "counting");
    if (counting) desk.undo(counting);
  }

  #leave(): void {
    desk.leaveSelection();
    desk.stopEditing();
    if (document.activeElement instanceof HTMLElement) document.activeElement.blur();
  }
}

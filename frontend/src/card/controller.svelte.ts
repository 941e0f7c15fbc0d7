/**
 * What a person does with the cards: which one has the keyboard, what they have
 * typed, and their taps. Taps are sent through `appState.taps`.
 */
import type { Action, DecisionRow, RunRow, Scope } from "../wire/types";
import { router } from "../router.svelte";
import { decisionPath } from "../route";
import { canUndo } from "../sync/tapProgress";
import type { Tap, TapRequest } from "../sync/taps.svelte";
import { isOpen } from "../sync/reduce";
import { appState } from "../sync/appState.svelte";
import { newKey } from "../sync/idempotencyKey";
import { fixOf, runTapRequest, tapRequestOf } from "./answers";
import { splitByAction, type BulkAction } from "./bulkAnswers";

/** A key pressed just as a card closes must not answer the next card. */
const SETTLE_MS = 600;

class CardController {
  #chosen = $state.raw<string | null>(null);
  #drafts = $state.raw<ReadonlyMap<string, string>>(new Map());
  #scopes = $state.raw<ReadonlyMap<string, Scope>>(new Map());
  #editing = $state.raw<string | null>(null);
  #selecting = $state.raw(false);
  #selected = $state.raw<ReadonlySet<string>>(new Set());
  #settling = $state.raw<ReturnType<typeof setTimeout> | null>(null);
  /** The card drawn as focused; undefined: no board has been drawn yet. */
  #seen: string | null | undefined;

  /** The open card that has the keyboard: the one the person is at, otherwise the most urgent. */
  get focused(): DecisionRow | null {
    const chosen = this.#editing ?? this.#chosen;
    return (
      appState.open.find(({ id }) => id === chosen) ??
      this.#ofRunPage(chosen) ??
      appState.open[0] ??
      null
    );
  }

  /** A run's page shows its card before the board arrives, and for an unselected project. */
  #ofRunPage(id: string | null): DecisionRow | null {
    const card = appState.runFeed?.state.decisions.get(id ?? "");
    return card && isOpen(card) ? card : null;
  }

  get editing(): string | null {
    return this.#editing;
  }

  focus(id: string): void {
    this.#chosen = id;
    this.#seen = id;
  }

  /** Note the card drawn as focused. If it changed by itself, answers wait a moment. */
  noteFocus(id: string | null): void {
    if (id === this.#seen) return;
    const unasked = this.#seen !== undefined && id !== null;
    this.#seen = id;
    if (unasked) this.settle();
  }

  /** A card has just moved under the finger: ignore a tap that was meant for the one before. */
  settle(): void {
    if (this.#settling !== null) clearTimeout(this.#settling);
    this.#settling = setTimeout(() => (this.#settling = null), SETTLE_MS);
  }

  /** Whether answers are disabled because the cards have just moved. */
  get isSettling(): boolean {
    return this.#settling !== null;
  }

  step(by: 1 | -1): void {
    const at = appState.open.findIndex(({ id }) => id === this.focused?.id);
    const next = appState.open[Math.min(appState.open.length - 1, Math.max(0, at + by))];
    if (next) this.focus(next.id);
  }

  fix(decision: DecisionRow): string {
    return fixOf(decision, this.#drafts.get(decision.id));
  }

  draft(decision: DecisionRow): string {
    return this.#drafts.get(decision.id) ?? decision.verdict?.fix ?? "";
  }

  write(decision: DecisionRow, text: string): void {
    this.#drafts = new Map(this.#drafts).set(decision.id, text);
  }

  edit(decision: DecisionRow): void {
    this.#editing = decision.id;
  }

  stopEditing(): void {
    this.#editing = null;
  }

  scope(decision: DecisionRow): Scope {
    return this.#scopes.get(decision.id) ?? "run";
  }

  setScope(decision: DecisionRow, scope: Scope): void {
    this.#scopes = new Map(this.#scopes).set(decision.id, scope);
  }

  /** Return the pending tap for this card; its buttons are disabled meanwhile. */
  underWay(decision: DecisionRow): Tap | null {
    const tap = appState.taps.of(decision.id);
    const resting = tap && ["sending", "asked", "kept"].includes(tap.phase);
    return resting && tap.action !== "pause" ? tap : null;
  }

  /** Whether several cards are being selected; a phone's list then answers no single card. */
  get selecting(): boolean {
    return this.#selecting;
  }

  /** The selected cards that are open and that this person may answer, in queue order. */
  get selected(): readonly DecisionRow[] {
    return appState.open.filter(({ id, actions }) => actions[0] && this.#selected.has(id));
  }

  isSelected(id: string): boolean {
    return this.#selected.has(id);
  }

  select(id: string): void {
    const next = new Set(this.#selected);
    if (!next.delete(id)) next.add(id);
    this.#selected = next;
    this.#selecting = true;
    this.focus(id);
  }

  selectAll(): void {
    this.#selected = new Set(appState.open.map(({ id }) => id));
  }

  beginSelecting(): void {
    this.#selecting = true;
  }

  leaveSelection(): void {
    this.#selected = new Set();
    this.#selecting = false;
  }

  /** Give the same answer to every selected card that offers it, each with its own version. */
  answerSelected(action: BulkAction): void {
    const { can } = splitByAction(this.selected, action);
    const together = can.length > 1 ? newKey() : undefined;
    for (const card of can) this.answer(card, action, { together });
    if (action === "continue") this.leaveSelection();
  }

  answer(decision: DecisionRow, action: Action, more: Partial<TapRequest> = {}): void {
    if (!decision.actions.includes(action) || this.underWay(decision)) return;
    if (action === "inject" && this.fix(decision) === "") return this.#askForFix(decision);
    if (action === "terminate") this.#holdMeanwhile(appState.run(decision.run));
    const extra = { fix: this.fix(decision), scope: this.scope(decision) };
    appState.taps.tap({ ...tapRequestOf(decision, action, extra), ...more });
    this.stopEditing();
  }

  /** Terminate without a countdown: the long press was the confirmation. */
  endNow(decision: DecisionRow): void {
    if (!decision.actions.includes("terminate") || this.underWay(decision)) return;
    appState.taps.sendNow(appState.taps.tap(tapRequestOf(decision, "terminate")).key);
  }

  /** Act on a run that has no card. */
  act(run: RunRow, action: Action): void {
    if (action === "terminate") this.#holdMeanwhile(run);
    appState.taps.tap(runTapRequest(run, action));
  }

  /** Send a message to a run without a holding card, or to one of its agents only. */
  tell(run: RunRow, message: string, agent?: string): void {
    if (message !== "") appState.taps.tap({ ...runTapRequest(run, "inject"), message, agent });
  }

  /** Start a new run with the same goal, beginning with the text. */
  restart(run: RunRow, message: string): void {
    appState.taps.tap({ ...runTapRequest(run, "restart"), message });
  }

  /** Return whether a tap can be undone. */
  canUndo(tap: Tap): boolean {
    return canUndo(tap, appState.made(tap));
  }

  /** Undo an answer: its effect is withdrawn, and the agent waits again. */
  undo(tap: Tap): void {
    if (tap.phase === "counting") return this.#stopCounting(tap);
    appState.taps.dismiss(tap.key);
    const { run, runName } = tap;
    appState.taps.tap({
      run,
      runName,
      action: "undo",
      decision: null,
      version: null,
      undoes: tap.key,
    });
  }

  /** Cancel a terminate that counts down, and release the run if it was held only for that. */
  #stopCounting(tap: Tap): void {
    appState.taps.undo(tap.key);
    const run = appState.run(tap.run);
    const held = run && (run.status === "holding" || run.status === "held");
    if (held && run.open_decisions === 0 && this.#heldForTap.delete(tap.run)) {
      appState.taps.tap(runTapRequest(run, "continue"));
    }
  }

  readonly #heldForTap = new Set<string>();

  /** A running agent is asked to wait while a terminate counts down. */
  #holdMeanwhile(run: RunRow | null): void {
    if (run?.status !== "running" || "pause" in run.unavailable) return;
    if (appState.taps.ofRun(run.id, "terminate")?.phase === "counting") return;
    this.#heldForTap.add(run.id);
    appState.taps.tap(runTapRequest(run, "pause"));
  }

  #askForFix(decision: DecisionRow): void {
    this.focus(decision.id);
    if (!document.querySelector(`[data-fix="${decision.id}"]`))
      router.go(decisionPath(decision.id));
    this.edit(decision);
  }
}

export const controller = new CardController();

/**
 * What a person is doing at the cards: which one has the keys, what they have
 * written, and the taps they make. Taps leave through `appState.taps`.
 */
import type { Action, DecisionRow, RunRow, Scope } from "../wire/types";
import { router } from "../router.svelte";
import { decisionPath } from "../route";
import { canUndo } from "../sync/afterTap";
import type { Tap, Wish } from "../sync/taps.svelte";
import { isOpen } from "../sync/reduce";
import { appState } from "../sync/appState.svelte";
import { freshKey } from "../sync/key";
import { fixOf, runWish, wishOf } from "./answers";
import { shareOf, type Together } from "./several";

/** A key pressed in the moment a card closes must not answer the next one. */
const SETTLE_MS = 600;

class CardController {
  #chosen = $state.raw<string | null>(null);
  #drafts = $state.raw<ReadonlyMap<string, string>>(new Map());
  #scopes = $state.raw<ReadonlyMap<string, Scope>>(new Map());
  #editing = $state.raw<string | null>(null);
  #selecting = $state.raw(false);
  #selected = $state.raw<ReadonlySet<string>>(new Set());
  #settling = $state.raw<ReturnType<typeof setTimeout> | null>(null);
  /** The card that the screen drew as focused; undefined: it has not drawn any board. */
  #seen: string | null | undefined;

  /** The one open card that has the keys and may be filled: the one the person is at, else the most urgent. */
  get focused(): DecisionRow | null {
    const chosen = this.#editing ?? this.#chosen;
    return (
      appState.open.find(({ id }) => id === chosen) ??
      this.#ofRunPage(chosen) ??
      appState.open[0] ??
      null
    );
  }

  /** A run's page draws its card before the board has come, and for a project that is not chosen. */
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

  /** The screen drew this card as focused; another one that nobody asked for settles first. */
  noteFocus(id: string | null): void {
    if (id === this.#seen) return;
    const unasked = this.#seen !== undefined && id !== null;
    this.#seen = id;
    if (unasked) this.settle();
  }

  /** Another card has just been put under the finger: the next tap in the same place is not for it. */
  settle(): void {
    if (this.#settling !== null) clearTimeout(this.#settling);
    this.#settling = setTimeout(() => (this.#settling = null), SETTLE_MS);
  }

  /** Answers rest, and are drawn resting, until the cards stand still. */
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

  /** The tap that is under way for this card; its buttons rest meanwhile. */
  underWay(decision: DecisionRow): Tap | null {
    const tap = appState.taps.of(decision.id);
    const resting = tap && ["sending", "asked", "kept"].includes(tap.phase);
    return resting && tap.action !== "pause" ? tap : null;
  }

  /** Several cards are being chosen; a phone's list then answers no single one. */
  get selecting(): boolean {
    return this.#selecting;
  }

  /** The chosen cards that still wait for one who may answer, in the order of the queue. */
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

  /** The same answer to every chosen card that offers it, each with its own version. */
  answerSelected(action: Together): void {
    const { can } = shareOf(this.selected, action);
    const together = can.length > 1 ? freshKey() : undefined;
    for (const card of can) this.answer(card, action, { together });
    if (action === "continue") this.leaveSelection();
  }

  answer(decision: DecisionRow, action: Action, more: Partial<Wish> = {}): void {
    if (!decision.actions.includes(action) || this.underWay(decision)) return;
    if (action === "inject" && this.fix(decision) === "") return this.#askForFix(decision);
    if (action === "terminate") this.#holdMeanwhile(appState.run(decision.run));
    const extra = { fix: this.fix(decision), scope: this.scope(decision) };
    appState.taps.tap({ ...wishOf(decision, action, extra), ...more });
    this.stopEditing();
  }

  /** A press held long enough has asked twice: it ends without counting. */
  endNow(decision: DecisionRow): void {
    if (!decision.actions.includes("terminate") || this.underWay(decision)) return;
    appState.taps.sendNow(appState.taps.tap(wishOf(decision, "terminate")).key);
  }

  /** Act on a run that has no card. */
  act(run: RunRow, action: Action): void {
    if (action === "terminate") this.#holdMeanwhile(run);
    appState.taps.tap(runWish(run, action));
  }

  /** Say something to a run that no card holds, or to one of its agents alone. */
  tell(run: RunRow, message: string, agent?: string): void {
    if (message !== "") appState.taps.tap({ ...runWish(run, "inject"), message, agent });
  }

  /** Open a fresh run for what this one was about, beginning with the text. */
  restart(run: RunRow, message: string): void {
    appState.taps.tap({ ...runWish(run, "restart"), message });
  }

  /** Whether there is a way back from a tap. */
  canUndo(tap: Tap): boolean {
    return canUndo(tap, appState.made(tap));
  }

  /** Take an answer back: what it gave goes, and the agent waits again. */
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

  /** Take a counting terminate back; let go what was held only for it. */
  #stopCounting(tap: Tap): void {
    appState.taps.undo(tap.key);
    const run = appState.run(tap.run);
    const held = run && (run.status === "holding" || run.status === "held");
    if (held && run.open_decisions === 0 && this.#heldForTap.delete(tap.run)) {
      appState.taps.tap(runWish(run, "continue"));
    }
  }

  readonly #heldForTap = new Set<string>();

  /** A running agent is asked to wait while a terminate counts down. */
  #holdMeanwhile(run: RunRow | null): void {
    if (run?.status !== "running" || "pause" in run.unavailable) return;
    if (appState.taps.ofRun(run.id, "terminate")?.phase === "counting") return;
    this.#heldForTap.add(run.id);
    appState.taps.tap(runWish(run, "pause"));
  }

  #askForFix(decision: DecisionRow): void {
    this.focus(decision.id);
    if (!document.querySelector(`[data-fix="${decision.id}"]`))
      router.go(decisionPath(decision.id));
    this.edit(decision);
  }
}

export const controller = new CardController();

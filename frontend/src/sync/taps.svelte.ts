/**
 * A person's taps on their way to the server.
 *
 * Each tap has its own key, so that sending it again is harmless, and carries the
 * version of the card it was made on. The server decides: an accepted tap shows
 * *asked* until its event arrives. Only Terminate waits five seconds for an Undo. A
 * tap that cannot be sent is kept, also for the next visit.
 */
import { version as t } from "../messages/texts";
import { ProblemError, UnreachableError } from "../wire/api";
import type { Action, InterventionRow, Scope } from "../wire/types";
import { isMessage } from "./tapProgress";
import { isFresh } from "./tapBody";

export interface TapRequest {
  run: string;
  runName: string;
  action: Action;
  decision: string | null;
  version: number | null;
  message?: string | undefined;
  agent?: string | undefined;
  amount?: Record<string, string | number> | undefined;
  scope?: Scope | undefined;
  forRun?: boolean | undefined;
  /** For an undo: the key of the tap it withdraws. */
  undoes?: string | undefined;
  /** Taps that one press made on several cards share this value. */
  together?: string | undefined;
}

export type Phase =
  | "counting" // terminate, before it is sent
  | "sending"
  | "kept" // could not be sent; will be
  | "asked" // the server accepted it
  | "stale" // the card had changed; not sent again
  | "failed"; // the server refused it

export interface Tap extends TapRequest {
  key: string;
  phase: Phase;
  /** When a terminate that counts down is sent, in milliseconds since the epoch. */
  leavesAt: number | null;
  tries: number;
  madeAt: number;
  problem: ProblemError | null;
}

export interface TapQueueOptions {
  post: (tap: Tap, keepalive: boolean) => Promise<InterventionRow>;
  newKey: () => string;
  now: () => number;
  /** Called if the server answers that the card had changed. */
  onStale: (tap: Tap) => void;
  /** Store a pending tap where it outlives the page. */
  keep?: (tap: Tap) => void;
  /** Delete a stored tap that was accepted or will never be sent. */
  drop?: (key: string) => void;
}

export const COUNT_MS = 5_000;
/** Two taps within this time count as one accidental double click. */
export const DOUBLE_TAP_MS = 500;
/** How long a bar is shown after a tap that was sent at once. */
export const BAR_MS = 6_000;
const FORGET_MS = 60_000;
/** A tap that waited longer than this answers a question nobody remembers. */
const RETRY_MS = [1_000, 2_000, 4_000, 8_000];

export class TapQueue {
  #taps = $state.raw<readonly Tap[]>([]);
  readonly #options: TapQueueOptions;
  #timers = new Map<string, ReturnType<typeof setTimeout>>();

  constructor(options: TapQueueOptions) {
    this.#options = options;
  }

  get all(): readonly Tap[] {
    return this.#taps;
  }

  /** Return the last tap on this card that still matters. */
  of(decision: string): Tap | null {
    return this.#taps.findLast((tap) => tap.decision === decision) ?? null;
  }

  ofRun(run: string, action: Action): Tap | null {
    return this.#taps.findLast((tap) => tap.run === run && tap.action === action) ?? null;
  }

  /** Send at once, except that a terminate counts down first; a second one sends it now. */
  tap(request: TapRequest): Tap {
    const counting = this.#taps.find(
      ({ run, phase, action }) =>
        run === request.run && phase === "counting" && action === request.action,
    );
    if (counting) {
      const isSlip = this.#options.now() - counting.madeAt < DOUBLE_TAP_MS;
      return isSlip ? counting : this.sendNow(counting.key);
    }
    if (request.action !== "terminate") return this.#send(this.#add(request, "sending", null));
    const leavesAt = this.#options.now() + COUNT_MS;
    const tap = this.#add(request, "counting", leavesAt);
    this.#later(tap.key, COUNT_MS, () => this.sendNow(tap.key));
    return tap;
  }

  sendNow(key: string, keepalive = false): Tap {
    const gone = { phase: "sending", leavesAt: null } as const;
    return this.#send(this.#change(key, { ...gone, ...this.#versionAfterPause(key) }), keepalive);
  }

  /** Our pending pause will change the version, so the terminate after it is sent without one. */
  #versionAfterPause(key: string): { version?: null } {
    const tap = this.#find(key);
    const pause = tap && this.ofRun(tap.run, "pause");
    const underWay = pause?.phase === "sending" || pause?.phase === "kept";
    return tap?.phase === "counting" && underWay ? { version: null } : {};
  }

  undo(key: string): void {
    this.#forget(key);
  }

  dismiss(key: string): void {
    this.#forget(key);
  }

  /** Send what still counts down, because the page is being hidden. */
  flushCounting(): void {
    for (const tap of this.#taps) if (tap.phase === "counting") this.sendNow(tap.key, true);
  }

  /** Send the kept taps once, because the connection is back. */
  retryKept(): void {
    for (const tap of this.#taps) if (tap.phase === "kept") this.sendNow(tap.key);
  }

  get hasKept(): boolean {
    return this.#taps.some(({ phase }) => phase === "kept");
  }

  /** Add taps of an earlier visit, with their keys and versions; `retryKept` sends them. */
  restore(taps: readonly Tap[]): void {
    const known = new Set(this.#taps.map(({ key }) => key));
    const back = taps.filter(({ key }) => !known.has(key)).map((tap) => this.#restored(tap));
    this.#taps = [...back, ...this.#taps];
  }

  /** Drop all taps: somebody else is signed in, and they must not be sent in that name. */
  forgetAll(): void {
    for (const tap of this.#taps) this.#forget(tap.key);
  }

  #restored(tap: Tap): Tap {
    if (isFresh(tap, this.#options.now())) return { ...tap, phase: "kept", tries: 0 };
    this.#options.drop?.(tap.key);
    const problem = new ProblemError(0, { detail: t.keptTooLong });
    return { ...tap, phase: "failed", problem };
  }

  #add(request: TapRequest, phase: Phase, leavesAt: number | null): Tap {
    const now = this.#options.now();
    const key = this.#options.newKey();
    const tap: Tap = { ...request, key, phase, leavesAt, tries: 0, madeAt: now, problem: null };
    const recent = this.#taps.filter(
      (one) =>
        one.phase === "kept" ||
        one.phase === "counting" ||
        now - one.madeAt < FORGET_MS ||
        // The text of a message that was not accepted exists only here.
        (isMessage(one) && one.phase !== "asked"),
    );
    this.#taps = [...recent, tap];
    return tap;
  }

  #send(tap: Tap, keepalive = false): Tap {
    this.#stopTimer(tap.key);
    this.#options.keep?.(tap);
    this.#options.post(tap, keepalive).then(
      (row) => this.#settle(tap, row),
      (error: unknown) => this.#fail(tap, error),
    );
    return tap;
  }

  #settle(tap: Tap, row: InterventionRow): void {
    this.#options.drop?.(tap.key);
    if (this.#find(tap.key)) this.#change(tap.key, { phase: "asked", tries: 0 });
    if (tap.action === "pause") this.#followOwnPause(tap.run, row.version);
  }

  /** Our pause raised the version by one: update a terminate that counts down. */
  #followOwnPause(run: string, version: number): void {
    for (const tap of this.#taps) {
      const follows = tap.run === run && tap.phase === "counting" && tap.version === version - 1;
      if (follows) this.#change(tap.key, { version });
    }
  }

  #fail(tap: Tap, error: unknown): void {
    if (!this.#find(tap.key)) return; // dismissed meanwhile
    const tries = tap.tries + 1;
    if (!mayComeBack(error)) this.#options.drop?.(tap.key);
    if (error instanceof ProblemError && error.status === 409) {
      this.#options.onStale(this.#change(tap.key, { phase: "stale", problem: error, tries }));
    } else if (error instanceof ProblemError && error.status < 500) {
      this.#change(tap.key, { phase: "failed", problem: error, tries });
    } else if (mayComeBack(error)) {
      this.#keep(tap, error instanceof ProblemError ? error : null, tries);
    } else {
      this.#change(tap.key, { phase: "failed", tries });
    }
  }

  #keep(tap: Tap, problem: ProblemError | null, tries: number): void {
    this.#change(tap.key, { phase: "kept", problem, tries });
    const wait = RETRY_MS[Math.min(tries, RETRY_MS.length) - 1] ?? 8_000;
    this.#later(tap.key, wait, () => {
      if (this.#find(tap.key)?.phase === "kept") this.sendNow(tap.key);
    });
  }

  #change(key: string, change: Partial<Tap>): Tap {
    const known = this.#find(key);
    if (!known) throw new Error(`no tap has the key ${key}`);
    const changed = { ...known, ...change };
    this.#taps = this.#taps.map((tap) => (tap.key === key ? changed : tap));
    return changed;
  }

  #find(key: string): Tap | undefined {
    return this.#taps.find((tap) => tap.key === key);
  }

  #forget(key: string): void {
    this.#stopTimer(key);
    this.#options.drop?.(key);
    this.#taps = this.#taps.filter((tap) => tap.key !== key);
  }

  #later(key: string, wait: number, action: () => void): void {
    this.#stopTimer(key);
    this.#timers.set(key, setTimeout(action, wait));
  }

  #stopTimer(key: string): void {
    clearTimeout(this.#timers.get(key));
    this.#timers.delete(key);
  }
}

/** Return whether the server may not have seen the tap, so that it can be sent again. */
function mayComeBack(error: unknown): boolean {
  return (
    error instanceof UnreachableError || (error instanceof ProblemError && error.status >= 500)
  );
}

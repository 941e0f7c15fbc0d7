/**
 * One socket of the server, and the state it keeps up to date.
 *
 * A new connection starts over with a snapshot; until it arrives, the last
 * known state stays and is marked with its time.
 */
import { waitBefore } from "./backoff";
import { clock } from "./clock.svelte";
import { GAP_MS, Gaps } from "./gaps";
import { isBatchable, BATCH_MS } from "./batching";
import type { Snapshot } from "../wire/types";
import { EMPTY, reduce, type Frame, type LiveState } from "./reduce";

export type Link =
  | { kind: "connecting" }
  | { kind: "live" }
  | { kind: "offline"; since: Date }
  | { kind: "refused"; code: number };

export interface Listeners {
  /** A snapshot arrived: the first one, or one after a lost connection. */
  arrived: () => void;
  /** 4401: not signed in. 4403: not a member of the project. */
  refused: (code: number) => void;
  /** The project itself changed: its policy, members or allowlist. */
  projectChanged?: () => void;
  /** Returns the state as this person may see it: a viewer gets no answers to tap. */
  shown?: (state: LiveState) => LiveState;
}

const NOT_SIGNED_IN = 4401;
const NOT_ALLOWED = 4403;
/** No close frame came (RFC 6455, 7.4.1). */
const NO_ANSWER = 1006;
/** The server sends at least four frames in this time: after such a silence it is gone. */
const SILENT_MS = 60_000;
/** How long a new socket may take to send its snapshot. */
const SNAPSHOT_MS = 30_000;
/** A gap requests a snapshot at once, but not more often than this. */
const RESYNC_PAUSE_MS = 2_000;

export class Feed {
  #state = $state.raw<LiveState>(EMPTY);
  #link = $state.raw<Link>({ kind: "connecting" });
  readonly #path: string;
  readonly #on: Listeners;
  readonly #shown = $derived.by(() => this.#on.shown?.(this.#state) ?? this.#state);
  #socket: WebSocket | null = null;
  #timer: ReturnType<typeof setTimeout> | undefined;
  #attempt = 0;
  #receivedAt = Date.now();
  #batch: Frame[] = [];
  #batchTimer: ReturnType<typeof setTimeout> | undefined;
  readonly #gaps = new Gaps();
  #waiting: ReturnType<typeof setTimeout> | undefined;
  #silence: ReturnType<typeof setTimeout> | undefined;
  #resyncedAt = 0;
  #closed = false;
  #resyncedRuns = new Set<string>();

  /** `kept`: the state of an earlier visit, shown with its time until a snapshot arrives. */
  constructor(path: string, on: Listeners, kept: { at: Date; frame: Frame } | null = null) {
    this.#path = path;
    this.#on = on;
    if (kept) {
      this.#state = reduce(EMPTY, kept.frame);
      this.#link = { kind: "offline", since: kept.at };
    }
    addEventListener("online", this.#wake);
    document.addEventListener("visibilitychange", this.#wake);
    this.#connect();
  }

  get state(): LiveState {
    return this.#shown;
  }

  /** The state as the server sent it, whoever is signed in. */
  get serverState(): LiveState {
    return this.#state;
  }

  get link(): Link {
    return this.#link;
  }

  get isLive(): boolean {
    return this.#link.kind === "live";
  }

  /** Show a snapshot fetched ahead of the socket, unless a state is shown or the feed is closed. */
  begin(frame: Snapshot): void {
    if (this.#state.at === null && this.#link.kind !== "refused") this.take(frame);
  }

  /** Apply a frame that was fetched outside the socket. */
  take(frame: Frame): void {
    this.#state = reduce(this.#state, frame);
  }

  /** Request a new snapshot: something was missed, or an answer was refused. */
  resync(): void {
    const wait = Math.max(0, this.#resyncedAt + RESYNC_PAUSE_MS - Date.now());
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => {
      this.#resyncedAt = Date.now();
      this.#connect();
    }, wait);
  }

  close(): void {
    this.#closed = true;
    clearTimeout(this.#timer);
    clearTimeout(this.#silence);
    this.#dropBatch();
    removeEventListener("online", this.#wake);
    document.removeEventListener("visibilitychange", this.#wake);
    this.#drop();
  }

  #dropBatch(): void {
    clearTimeout(this.#batchTimer);
    this.#batchTimer = undefined;
    this.#batch = [];
    this.#stopWaiting();
  }

  #connect(): void {
    if (this.#closed) return;
    clearTimeout(this.#timer);
    this.#drop();
    const socket = new WebSocket(addressOf(this.#path));
    socket.onmessage = (message) => this.#receive(socket, String(message.data));
    socket.onclose = (event) => this.#lose(socket, event.code);
    this.#socket = socket;
    this.#watch(socket, SNAPSHOT_MS);
  }

  /** Drop the current socket without treating that as a lost connection. */
  #drop(): void {
    const socket = this.#socket;
    this.#socket = null;
    socket?.close();
  }

  #receive(socket: WebSocket, text: string): void {
    if (socket !== this.#socket) return;
    const frame: Frame = JSON.parse(text);
    this.#receivedAt = Date.now();
    this.#watch(socket, SILENT_MS);
    this.#batch.push(frame);
    if (!isBatchable(frame)) this.#show();
    else this.#batchTimer ??= setTimeout(() => this.#show(), BATCH_MS);
    if (frame.type === "snapshot") this.#arrive(frame.at);
    if (concernsProject(frame)) this.#on.projectChanged?.();
  }

  /** Apply the batched frames, in the order they arrived. */
  #show(): void {
    clearTimeout(this.#batchTimer);
    this.#batchTimer = undefined;
    this.#state = this.#batch.reduce(reduce, this.#state);
    this.#batch = [];
    this.#giveUpGaps();
    this.#resyncGaps();
  }

  #giveUpGaps(): void {
    const runs = this.#gaps.overdue(this.#state, Date.now());
    if (runs.length > 0) this.#state = reduce(this.#state, { type: "gap.given_up", runs });
    if (this.#state.early.size === 0) this.#stopWaiting();
    else
      this.#waiting ??= setTimeout(() => {
        this.#stopWaiting();
        this.#show();
      }, GAP_MS / 2);
  }

  #stopWaiting(): void {
    clearTimeout(this.#waiting);
    this.#waiting = undefined;
  }

  #arrive(at: string): void {
    clock.follow(at);
    clearTimeout(this.#timer); // this is the snapshot that would have been requested
    this.#attempt = 0;
    this.#link = { kind: "live" };
    this.#on.arrived();
  }

  /** A run that no snapshot contains, because it ended long ago, is requested only once. */
  #resyncGaps(): void {
    const { stale, runs } = this.#state;
    const missing = [...stale].filter((id) => runs.has(id) || !this.#resyncedRuns.has(id));
    if (missing.length === 0) return;
    for (const id of missing) this.#resyncedRuns.add(id);
    this.resync();
  }

  /** A connection may be dead without a close: a laptop woke elsewhere, a router forgot it. */
  #watch(socket: WebSocket, within: number): void {
    clearTimeout(this.#silence);
    this.#silence = setTimeout(() => {
      if (socket !== this.#socket) return;
      this.#lose(socket, NO_ANSWER);
      socket.close();
    }, within);
  }

  #lose(socket: WebSocket, code: number): void {
    if (socket !== this.#socket || this.#closed) return;
    this.#socket = null;
    clearTimeout(this.#silence);
    if (code === NOT_SIGNED_IN || code === NOT_ALLOWED) return this.#refuse(code);
    if (this.#link.kind !== "offline") this.#link = { kind: "offline", since: clock.read() };
    this.#timer = setTimeout(() => this.#connect(), waitBefore(this.#attempt++, Math.random()));
  }

  #refuse(code: number): void {
    this.#link = { kind: "refused", code };
    this.#dropBatch();
    this.#state = EMPTY; // whoever may no longer see it no longer does
    this.#on.refused(code);
  }

  readonly #wake = (): void => {
    if (document.hidden || this.#link.kind === "refused") return;
    const slept = Date.now() - this.#receivedAt > SILENT_MS;
    if (this.#socket === null || slept) this.#connect();
  };
}

function concernsProject(frame: Frame): boolean {
  if (frame.type === "batch") return frame.events.some(concernsProject);
  return frame.type === "policy.changed" || frame.type === "access.changed";
}

function addressOf(path: string): string {
  return `${location.protocol === "https:" ? "wss" : "ws"}://${location.host}${path}`;
}

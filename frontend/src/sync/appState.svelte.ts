/**
 * Everything that the screens know: who is signed in, and the merged state of the sockets.
 *
 * There is one board socket per project, and one more for the run that is open.
 */
import { clearNotifications, claimPushes, stopPushes } from "../push/pushOwner";
import {
  csrfToken,
  clearPrefetched,
  ProblemError,
  read,
  readPrefetched,
  settled,
  signOut,
  write,
} from "../wire/api";
import type {
  AutofixRow,
  Board,
  DecisionRow,
  InterventionRow,
  Me,
  Mode,
  Page,
  ProjectRow,
  RunRow,
  Snapshot,
} from "../wire/types";
import { actorName, permissionOf, hasEnded } from "../format/words";
import { words } from "../messages/texts";
import { clock } from "./clock.svelte";
import { Feed, type Link } from "./feed.svelte";
import { disableAnswers, lostProjects, disableOrganisationRaise } from "./unavailable";
import { isOpen, type LiveState } from "./reduce";
import { newKey } from "./idempotencyKey";
import { BoardCache, type CachedBoard } from "./boardCache";
import { storage } from "./storage";
import { clearTab } from "./tabStorage";
import { bodyOf, pathOfTap, TAP } from "./tapBody";
import { TapQueue, type Tap } from "./taps.svelte";

export type Access = "unknown" | "in" | "out" | "unreachable";

const STORED = "missioncontrol.project";
const RETRY_MS = 3_000;
/** If the server has not answered by then, the last known state is shown. */
const SHOW_CACHED_MS = 2_500;
const KEEP_MS = 5_000;
/** A push may arrive this long before the socket's event. */
const NEWS_MS = 60_000;

class AppState {
  #me = $state.raw<Me | null>(null);
  #access = $state.raw<Access>("unknown");
  /** The run whose conversation is visible, including the state of its messages. */
  thread = $state.raw<string | null>(null);
  #feeds = $state.raw<ReadonlyMap<string, Feed>>(new Map());
  #runFeed = $state.raw<{ id: string; feed: Feed } | null>(null);
  #chosen = $state.raw<string | null>(storedProject());
  #lost = $state.raw<readonly string[]>([]);
  #losses = $state.raw(0);
  readonly taps: TapQueue;
  readonly #boardCache = new BoardCache(storage);
  #retryTimer: ReturnType<typeof setTimeout> | undefined;

  readonly #live = $derived(this.#me?.projects.filter((one) => !isArchived(one)) ?? []);
  readonly #viewerProjects = $derived(
    new Set(this.#live.filter(({ role }) => role === "viewer").map(({ id }) => id)),
  );
  readonly #project = $derived(this.projects.find(({ id }) => id === this.#chosen) ?? null);
  readonly #shownFeeds = $derived(
    [...this.#feeds].filter(([id]) => this.#project === null || this.#project.id === id),
  );
  readonly #runs = $derived(this.#shownFeeds.flatMap(([, feed]) => [...feed.state.runs.values()]));
  readonly #decisions = $derived(
    this.#shownFeeds.flatMap(([, feed]) => [...feed.state.decisions.values()]),
  );
  readonly #open = $derived(this.#decisions.filter(isOpen).sort(byUrgency));
  readonly #answered = $derived(
    this.#decisions.filter((decision) => !isOpen(decision)).sort(byAnswer),
  );

  constructor() {
    this.taps = new TapQueue({
      post: (tap, keepalive) => this.#post(tap, keepalive),
      newKey: () => newKey(),
      now: () => Date.now(),
      onStale: () => this.resync(),
      keep: ({ problem: _, ...tap }) => void storage.put(TAP + tap.key, { ...tap, problem: null }),
      drop: (key) => void storage.remove(TAP + key),
    });
    addEventListener("pagehide", () => this.taps.flushCounting());
    setInterval(() => this.#keepBoards(), KEEP_MS);
    document.addEventListener("visibilitychange", () => this.#noteVisibility());
  }

  get me(): Me | null {
    return this.#me;
  }
  get access(): Access {
    return this.#access;
  }
  get projects(): readonly ProjectRow[] {
    return this.#live;
  }
  /** Archived projects: they can be read and restored, but no project switch lists them. */
  get archived(): readonly ProjectRow[] {
    return this.#me?.projects.filter(isArchived) ?? [];
  }
  /** Names of projects that this person lost since their last visit, until they confirm it. */
  get lost(): readonly string[] {
    return this.#lost;
  }
  /** Whether they are a member of no project, not even of one that is closed to them for now. */
  get isOutside(): boolean {
    return this.#me !== null && this.#me.projects.length + this.#me.closed.length === 0;
  }
  /** How often projects were lost; when it changes, screens drop what they fetched themselves. */
  get losses(): number {
    return this.#losses;
  }
  forgetLost(): void {
    this.#lost = [];
  }
  /** The selected project; null: all of them. */
  get project(): ProjectRow | null {
    return this.#project;
  }
  get runs(): readonly RunRow[] {
    return this.#runs;
  }
  get liveRuns(): readonly RunRow[] {
    return this.#runs.filter((run) => !hasEnded(run));
  }
  /** The open cards: held first, then oldest first. */
  get open(): readonly DecisionRow[] {
    return this.#open;
  }
  /** Whether every board is up to date with the server. */
  get knowsAll(): boolean {
    return this.#feeds.size > 0 && [...this.#feeds.values()].every(({ isLive }) => isLive);
  }
  /** An unknown card was answered long ago, unless it opened just now and has not arrived yet. */
  wasAnswered(decision: string, openedAt: number): boolean {
    const card = this.decision(decision);
    return card ? !isOpen(card) : this.knowsAll && clock.read().getTime() - openedAt > NEWS_MS;
  }
  /** Why this person may not act in a project; null: they may. */
  whyNot(project: string): string | null {
    return this.#viewerProjects.has(project) ? words.looksOnly : null;
  }
  /** Open cards of all projects, selected or not; the app's icon shows their number. */
  get openEverywhere(): readonly DecisionRow[] {
    return [...this.#feeds.values()].flatMap(({ state }) =>
      [...state.decisions.values()].filter(isOpen),
    );
  }
  /** The open card that holds a run. A permission request is none: it holds only its call. */
  cardOf(run: string): DecisionRow | null {
    return (
      this.openEverywhere.find((card) => card.run === run && permissionOf(card) === null) ?? null
    );
  }
  get answered(): readonly DecisionRow[] {
    return this.#answered;
  }
  get runFeed(): Feed | null {
    return this.#runFeed?.feed ?? null;
  }
  /** Whether no snapshot has arrived yet, so that not even an empty list can be shown. */
  get isBlank(): boolean {
    if (this.#runs.length > 0 || this.#decisions.length > 0) return false;
    return this.#live.some(({ id }) => {
      const feed = this.#feeds.get(id);
      return feed?.link.kind !== "refused" && (feed?.state.at ?? null) === null;
    });
  }
  /** The worst of the connections in use. */
  get link(): Link {
    const boards = [...this.#feeds.values()].map((feed) => feed.link);
    const lost = [...boards, this.runFeed?.link].find((link) => link?.kind === "offline");
    // A run's own socket opens with its page; the boards are live meanwhile.
    return lost ?? boards.find(({ kind }) => kind === "connecting") ?? { kind: "live" };
  }

  /** When the connection was lost; null: it is not lost. */
  get lostAt(): Date | null {
    const { link } = this;
    return link.kind === "offline" ? link.since : null;
  }
  /** The time that the screen shows: now, or when the connection was lost. */
  get asOf(): Date {
    return this.lostAt ?? clock.now;
  }

  run(id: string): RunRow | null {
    return this.runFeed?.state.runs.get(id) ?? this.#boardState(id)?.runs.get(id) ?? null;
  }
  decision(id: string): DecisionRow | null {
    for (const feed of this.#feeds.values()) {
      const row = feed.state.decisions.get(id);
      if (row) return row;
    }
    return this.runFeed?.state.decisions.get(id) ?? null;
  }
  /** The server's record of a tap; null: none yet. */
  made(tap: Pick<Tap, "key" | "run">): InterventionRow | null {
    return this.#interventions().find((row) => row.key === tap.key && row.run === tap.run) ?? null;
  }
  /** Whether its run has been given another answer since. */
  isOvertaken({ run, version }: InterventionRow): boolean {
    return this.#interventions().some((row) => row.run === run && row.version > version);
  }
  #interventions(): InterventionRow[] {
    const states = [this.runFeed?.state, ...[...this.#feeds.values()].map(({ state }) => state)];
    return states.flatMap((state) => [...(state?.interventions.values() ?? [])]);
  }
  /** People are shown by name; yourself as "You". */
  nameOf(by: string | null): string {
    return by === this.#me?.user.name ? words.you : actorName(by ?? "");
  }
  autofixOf(decision: DecisionRow): AutofixRow | null {
    const states = [this.runFeed?.state, this.#boardState(decision.run)];
    const fixes = states.flatMap((state) => [...(state?.autofixes.values() ?? [])]);
    return fixes.find((fix) => fix.decision === decision.id) ?? null;
  }
  projectName(id: string): string {
    return this.#me?.projects.find((project) => project.id === id)?.name ?? "";
  }

  /** Fetch who is signed in, and open or close sockets accordingly. */
  async enter(): Promise<void> {
    const late = setTimeout(() => void this.#showCachedBoards(), SHOW_CACHED_MS);
    try {
      await settled();
      // If this fails, the sockets bring the boards.
      const boards = readPrefetched<Page<Board>>("boards/")?.catch(() => null);
      const me = await read<Me>("me/");
      const lost = lostProjects(this.#me, me);
      if (lost.length > 0) this.#losses += 1;
      this.#lost = [...this.#lost, ...lost];
      this.#me = me;
      this.#access = "in";
      // Not awaited before opening sockets: a first visit creates its database now.
      const isAnother = this.#boardCache.beginSession(this.#me);
      this.#openFeeds();
      void boards?.then((page) => this.#showBoards(page?.results ?? []));
      if (await isAnother) this.taps.forgetAll();
      void claimPushes(this.#me.user.id);
      await storage.put("csrf", csrfToken());
      await this.#restoreTaps();
      this.taps.retryKept();
    } catch (error) {
      if (error instanceof ProblemError && [401, 403].includes(error.status)) this.#clearSession();
      else await this.#waitForServer();
    } finally {
      clearTimeout(late);
    }
  }

  /** End the session, and remove everything it stored in this browser. */
  async signOut(): Promise<void> {
    await signOut();
    await stopPushes();
    this.#clearSession();
  }

  /** The id of the selected project, even if that project is not available. */
  get chosen(): string | null {
    return this.#chosen;
  }

  choose(project: string | null): void {
    this.#chosen = project;
    storeProject(project);
  }

  /** Follow one run, turn by turn; a second call with the same id does nothing. */
  watch(id: string): void {
    if (this.#runFeed?.id === id) return;
    this.unwatch();
    const feed = new Feed(
      `/ws/runs/${id}/`,
      this.#listeners(() => void this.enter()),
    );
    this.#runFeed = { id, feed };
    // If this fails, the socket brings the snapshot.
    readPrefetched<Snapshot>(`runs/${id}/snapshot/`)?.then(
      (frame) => feed.begin(frame),
      () => undefined,
    );
  }

  unwatch(): void {
    this.#runFeed?.feed.close();
    this.#runFeed = null;
  }

  resync(): void {
    for (const feed of this.#feeds.values()) feed.resync();
    this.runFeed?.resync();
  }

  async setMode(run: RunRow, mode: Mode): Promise<void> {
    await write("PATCH", `runs/${run.id}/`, { mode });
  }

  async #post(tap: Tap, keepalive: boolean): Promise<InterventionRow> {
    try {
      return await postTap(tap, keepalive);
    } catch (error) {
      // The session may have ended while the page was open.
      if (error instanceof ProblemError && error.status === 401) this.#clearSession();
      throw error;
    }
  }

  #boardState(run: string) {
    return [...this.#feeds.values()].map(({ state }) => state).find(({ runs }) => runs.has(run));
  }

  #openFeeds(kept: ReadonlyMap<string, CachedBoard> = new Map()): void {
    const wanted = new Set(this.projects.map(({ id }) => id));
    const feeds = new Map(this.#feeds);
    for (const [id, feed] of feeds) {
      if (wanted.has(id)) continue;
      feed.close();
      feeds.delete(id);
    }
    for (const id of wanted) {
      if (feeds.has(id)) continue;
      feeds.set(id, new Feed(`/ws/projects/${id}/`, this.#boardListeners(), kept.get(id)));
    }
    this.#feeds = feeds;
  }

  #showBoards(boards: readonly Board[]): void {
    for (const { project, snapshot } of boards) this.#feeds.get(project)?.begin(snapshot);
  }

  #boardListeners() {
    return { ...this.#listeners(() => void this.enter()), projectChanged: () => void this.enter() };
  }

  #withoutRaise(state: LiveState): LiveState {
    const ownsOne = this.#me?.projects.some(({ role }) => role === "owner") ?? true;
    return ownsOne ? state : disableOrganisationRaise(state, words.ownersRaise);
  }

  #listeners(onForbidden: () => void) {
    return {
      shown: (state: LiveState) =>
        disableAnswers(this.#withoutRaise(state), this.#viewerProjects, words.looksOnly),
      arrived: () => this.#sendKeptTaps(),
      refused: (code: number) => (code === 4401 ? void this.#reopen() : onForbidden()),
    };
  }

  /** Send kept taps only once the person is known: the session may be somebody else's by now. */
  #sendKeptTaps(): void {
    if (this.taps.hasKept) void this.enter();
  }

  /** The session has ended or has a new key: find out who is signed in and reopen the sockets. */
  async #reopen(): Promise<void> {
    clearPrefetched();
    const run = this.#runFeed?.id;
    this.unwatch();
    for (const feed of this.#feeds.values()) feed.close();
    this.#feeds = new Map();
    await this.enter();
    if (run !== undefined && this.#access === "in") this.watch(run);
  }

  #clearSession(): void {
    clearPrefetched();
    this.#access = "out";
    this.#me = null;
    this.#lost = [];
    this.taps.forgetAll();
    void clearNotifications();
    void this.#boardCache.clear();
    clearTab();
    this.unwatch();
    for (const feed of this.#feeds.values()) feed.close();
    this.#feeds = new Map();
  }

  /** Show the last visit's state until the server first answers; afterwards keep the last one. */
  async #waitForServer(): Promise<void> {
    await this.#showCachedBoards();
    if (this.#me === null) this.#access = "unreachable";
    clearTimeout(this.#retryTimer);
    this.#retryTimer = setTimeout(() => void this.enter(), RETRY_MS);
  }

  async #showCachedBoards(): Promise<void> {
    if (this.#me !== null) return;
    const cached = await this.#boardCache.load();
    if (!cached || this.#me !== null) return;
    this.#me = cached.me;
    this.#access = "in";
    this.#openFeeds(cached.boards);
    await this.#restoreTaps();
  }

  async #restoreTaps(): Promise<void> {
    this.taps.restore(await storage.all<Tap>(TAP));
  }

  #keepBoards(): void {
    if (this.#access !== "in") return;
    for (const [project, feed] of this.#feeds) {
      if (feed.isLive) void this.#boardCache.save(project, feed.serverState, new Date());
    }
  }

  #noteVisibility(): void {
    if (document.hidden) {
      this.taps.flushCounting();
      this.#keepBoards();
    } else if (this.#access !== "unknown") void this.enter();
  }
}

function isArchived({ archived_at }: ProjectRow): boolean {
  return archived_at !== null;
}

function postTap(tap: Tap, keepalive: boolean): Promise<InterventionRow> {
  return write("POST", pathOfTap(tap), bodyOf(tap), { keepalive });
}

/** Order cards: held before flagged, then oldest first. */
/** An agent that asks for permission waits, like one that is held. */
const isWaiting = ({ holds, kind }: DecisionRow): boolean => holds || kind === "permission";

function byUrgency(a: DecisionRow, b: DecisionRow): number {
  if (isWaiting(a) !== isWaiting(b)) return isWaiting(a) ? -1 : 1;
  return a.opened_at < b.opened_at ? -1 : 1;
}

function byAnswer(a: DecisionRow, b: DecisionRow): number {
  return (a.resolved_at ?? a.opened_at) < (b.resolved_at ?? b.opened_at) ? 1 : -1;
}

/** Each window keeps its own selection; a new window begins with the last one made in any. */
function storedProject(): string | null {
  try {
    const chosen = sessionStorage.getItem(STORED) ?? localStorage.getItem(STORED) ?? "";
    sessionStorage.setItem(STORED, chosen);
    return chosen || null;
  } catch {
    return null; // storage may be off in private windows
  }
}

function storeProject(id: string | null): void {
  try {
    for (const place of [sessionStorage, localStorage]) place.setItem(STORED, id ?? "");
  } catch {
    // then the selection lasts as long as the page
  }
}

export const appState = new AppState();

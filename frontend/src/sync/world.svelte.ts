/**
 * All that the screen knows: who is here, and the merged state of the sockets.
 *
 * One board socket a project, and one more for the run that is being looked at.
 */
import { ProblemError, read, write } from "../wire/api";
import type { AutofixRow, DecisionRow, InterventionRow, Me, Mode, ProjectRow, RunRow } from "../wire/types";
import { hasEnded } from "../format/words";
import { clock } from "./clock.svelte";
import { Feed, type Link } from "./feed.svelte";
import { isOpen } from "./reduce";
import { freshKey } from "./key";
import { TapQueue, type Tap } from "./taps.svelte";

export type Access = "unknown" | "in" | "out" | "unreachable";

const STORED = "missioncontrol.project";
const ASK_AGAIN_MS = 3_000;

class World {
  #me = $state.raw<Me | null>(null);
  #access = $state.raw<Access>("unknown");
  #feeds = $state.raw<ReadonlyMap<string, Feed>>(new Map());
  #runFeed = $state.raw<{ id: string; feed: Feed } | null>(null);
  #chosen = $state.raw<string | null>(storedProject());
  readonly taps: TapQueue;

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
      freshKey: () => freshKey(),
      now: () => Date.now(),
      onStale: () => this.resync(),
    });
    addEventListener("pagehide", () => this.taps.flushCounting());
    document.addEventListener("visibilitychange", () => this.#noteVisibility());
  }

  get me(): Me | null {
    return this.#me;
  }
  get access(): Access {
    return this.#access;
  }
  get projects(): readonly ProjectRow[] {
    return this.#me?.projects ?? [];
  }
  /** The chosen project; null is all of them. */
  get project(): ProjectRow | null {
    return this.#project;
  }
  get runs(): readonly RunRow[] {
    return this.#runs;
  }
  get liveRuns(): readonly RunRow[] {
    return this.#runs.filter((run) => !hasEnded(run));
  }
  /** What needs a person: held first, oldest first. */
  get open(): readonly DecisionRow[] {
    return this.#open;
  }
  get answered(): readonly DecisionRow[] {
    return this.#answered;
  }
  get runFeed(): Feed | null {
    return this.#runFeed?.feed ?? null;
  }
  /** No snapshot has come yet: there is nothing to show, not even "nothing". */
  get isBlank(): boolean {
    if (this.#runs.length > 0 || this.#decisions.length > 0) return false;
    return [...this.#feeds.values()].some(
      ({ state, link }) => state.at === null && link.kind !== "refused",
    );
  }
  /** The worst of the connections in use. */
  get link(): Link {
    const boards = [...this.#feeds.values()].map((feed) => feed.link);
    const lost = [...boards, this.runFeed?.link].find((link) => link?.kind === "offline");
    // A run's own socket opens with its page; the boards stay live meanwhile.
    return lost ?? boards.find(({ kind }) => kind === "connecting") ?? { kind: "live" };
  }

  /** When the connection was lost, while it is. */
  get lostAt(): Date | null {
    const { link } = this;
    return link.kind === "offline" ? link.since : null;
  }
  /** When what the screen shows was true: now, or when the connection was lost. */
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
  /** People are named; you are You. */
  nameOf(by: string | null): string {
    return by === this.#me?.user.name ? "You" : (by ?? "");
  }
  autofixOf(decision: DecisionRow): AutofixRow | null {
    const states = [this.runFeed?.state, this.#boardState(decision.run)];
    const fixes = states.flatMap((state) => [...(state?.autofixes.values() ?? [])]);
    return fixes.find((fix) => fix.decision === decision.id) ?? null;
  }
  projectName(id: string): string {
    return this.projects.find((project) => project.id === id)?.name ?? "";
  }

  /** Ask who is here, and open or close sockets to match. */
  async enter(): Promise<void> {
    try {
      this.#me = await read<Me>("me/");
      this.#access = "in";
      this.#openFeeds();
    } catch (error) {
      if (error instanceof ProblemError && [401, 403].includes(error.status)) this.#leave();
      else this.#waitForServer();
    }
  }

  choose(project: string | null): void {
    this.#chosen = project;
    storeProject(project);
  }

  /** Listen to one run, turn by turn; a second call with the same id is nothing. */
  watch(id: string): void {
    if (this.#runFeed?.id === id) return;
    this.unwatch();
    this.#runFeed = { id, feed: new Feed(`/ws/runs/${id}/`, this.#listeners(() => undefined)) };
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
      // The session may have ended under an open page.
      if (error instanceof ProblemError && error.status === 401) this.#leave();
      throw error;
    }
  }

  #boardState(run: string) {
    return [...this.#feeds.values()].map(({ state }) => state).find(({ runs }) => runs.has(run));
  }

  #openFeeds(): void {
    const wanted = new Set(this.projects.map(({ id }) => id));
    const feeds = new Map(this.#feeds);
    for (const [id, feed] of feeds) {
      if (wanted.has(id)) continue;
      feed.close();
      feeds.delete(id);
    }
    for (const id of wanted) {
      if (!feeds.has(id)) feeds.set(id, new Feed(`/ws/projects/${id}/`, this.#boardListeners()));
    }
    this.#feeds = feeds;
  }

  #boardListeners() {
    return { ...this.#listeners(() => void this.enter()), projectChanged: () => void this.enter() };
  }

  #listeners(onForbidden: () => void) {
    return {
      arrived: () => this.taps.retryKept(),
      refused: (code: number) => (code === 4401 ? this.#leave() : onForbidden()),
    };
  }

  #leave(): void {
    this.#access = "out";
    this.unwatch();
    for (const feed of this.#feeds.values()) feed.close();
    this.#feeds = new Map();
  }

  /** Before the first answer there is nothing to show; afterwards the last state stays. */
  #waitForServer(): void {
    if (this.#me === null) this.#access = "unreachable";
    setTimeout(() => void this.enter(), ASK_AGAIN_MS);
  }

  #noteVisibility(): void {
    if (document.hidden) this.taps.flushCounting();
    else if (this.#access !== "unknown") void this.enter();
  }
}

function postTap(tap: Tap, keepalive: boolean): Promise<InterventionRow> {
  const body = {
    key: tap.key,
    action: tap.action,
    ...(tap.decision && { decision: tap.decision }),
    ...(tap.version !== null && { version: tap.version }),
    ...(tap.message && { message: tap.message }),
    ...(tap.amount && { amount: tap.amount }),
    ...(tap.scope && { scope: tap.scope }),
  };
  return write("POST", `runs/${tap.run}/interventions/`, body, { keepalive });
}

/** Held before flagged, then the oldest. */
function byUrgency(a: DecisionRow, b: DecisionRow): number {
  if (a.holds !== b.holds) return a.holds ? -1 : 1;
  return a.opened_at < b.opened_at ? -1 : 1;
}

function byAnswer(a: DecisionRow, b: DecisionRow): number {
  return (a.resolved_at ?? a.opened_at) < (b.resolved_at ?? b.opened_at) ? 1 : -1;
}

function storedProject(): string | null {
  try {
    return localStorage.getItem(STORED);
  } catch {
    return null; // storage may be off in private windows
  }
}

function storeProject(id: string | null): void {
  try {
    if (id) localStorage.setItem(STORED, id);
    else localStorage.removeItem(STORED);
  } catch {
    // the choice then lasts as long as the page
  }
}

export const world = new World();

/**
 * The last known state, kept for the next visit without a connection.
 *
 * It belongs to one person at a time: the next one to sign in finds nothing of it.
 */
import type { Me, RunRow, Snapshot } from "../wire/types";
import { hasEnded } from "../format/words";
import { isOpen, type LiveState } from "./reduce";
import type { KeyValueStorage } from "./storage";

/** A board, and the time of its state. */
export interface CachedBoard {
  project: string;
  at: Date;
  frame: Snapshot;
}

export interface CachedSession {
  me: Me;
  boards: ReadonlyMap<string, CachedBoard>;
}

/** Boards are written every few seconds; of thousands of runs, running ones are kept first. */
export const MAX_RUNS = 200;

const ME = "me";
const BOARD = "board:";

export class BoardCache {
  readonly #storage: KeyValueStorage;
  readonly #written = new Map<string, LiveState>();

  constructor(storage: KeyValueStorage) {
    this.#storage = storage;
  }

  /** Note who is signed in and delete what is not theirs. True: somebody else was here before. */
  async beginSession(me: Me): Promise<boolean> {
    const before = await this.#storage.get<Me>(ME);
    const isAnother = before !== null && before.user.id !== me.user.id;
    if (isAnother) await this.clear();
    const mine = new Set(me.projects.map(({ id }) => id));
    for (const { project } of await this.#storage.all<CachedBoard>(BOARD))
      if (!mine.has(project)) await this.#storage.remove(BOARD + project);
    await this.#storage.put(ME, me);
    return isAnother;
  }

  /** Store a board, unless it is unchanged. */
  async save(project: string, state: LiveState, at: Date): Promise<void> {
    if (state.at === null || this.#written.get(project) === state) return;
    this.#written.set(project, state);
    const kept: CachedBoard = { project, at, frame: frameOf(state) };
    await this.#storage.put(BOARD + project, kept);
  }

  async load(): Promise<CachedSession | null> {
    const me = await this.#storage.get<Me>(ME);
    if (!me) return null;
    const boards = await this.#storage.all<CachedBoard>(BOARD);
    return { me, boards: new Map(boards.map((kept) => [kept.project, kept])) };
  }

  async clear(): Promise<void> {
    this.#written.clear();
    await this.#storage.clear();
  }
}

/** Return the snapshot that would restore the state. */
export function frameOf(state: LiveState): Snapshot {
  const runs = runsToCache([...state.runs.values()]);
  const known = new Set(runs.map(({ id }) => id));
  const decisions = [...state.decisions.values()];
  return {
    type: "snapshot",
    at: state.at ?? "",
    runs,
    decisions: decisions.filter((card) => isOpen(card) || known.has(card.run)),
    interventions: [...state.interventions.values()].filter(({ run }) => known.has(run)),
    seq: Object.fromEntries([...state.seq].filter(([run]) => known.has(run))),
  };
}

/** Return at most `MAX_RUNS` runs: running before ended, the most recently active first. */
function runsToCache(runs: readonly RunRow[]): RunRow[] {
  if (runs.length <= MAX_RUNS) return [...runs];
  const rank = (run: RunRow) => `${hasEnded(run) ? "0" : "1"}${run.last_turn_at ?? run.started_at}`;
  return [...runs].sort((a, b) => (rank(a) < rank(b) ? 1 : -1)).slice(0, MAX_RUNS);
}

/**
 * Today's spending: the server's sum plus, between two answers, what the meters added.
 *
 * The server is asked if nothing is known, after spending (at most every few seconds),
 * after midnight, and after the person or the project's rules were fetched again.
 */
import { query, read } from "../wire/api";
import type { Me, Page, RunRow, TodayRow } from "../wire/types";
import { storage } from "./storage";
import { answerOf, costsOf, isSettled, todayOf, type Today, type Answer } from "./costToday";
import { appState } from "./appState.svelte";

const MOVED_MS = 5_000;
const QUIET_MS = 5 * 60_000;
const KEPT = "today:";

class CostTodayStore {
  #answer = $state.raw<Answer | null>(null);
  #about: string | null = null;
  #askedAt = -Infinity;
  #me: Me | null = null;

  /** The current figure; null: not known yet, or of another day. */
  at(now: Date, runs: readonly RunRow[]): Today | null {
    return this.#answer && todayOf(this.#answer, runs, now);
  }

  /** Fetch again if it is due; a failure keeps the known figure. */
  async refresh(now: Date, runs: readonly RunRow[]): Promise<void> {
    const about = appState.project?.id ?? "";
    if (this.#about !== about) this.#forget(about);
    if (!this.#isDue(now, runs)) return;
    this.#askedAt = now.getTime();
    this.#me = appState.me;
    try {
      const { results } = await read<Page<TodayRow>>(
        `costs/today/${query({ project: about, limit: "500" })}`,
      );
      if (about === this.#about) await this.#take(about, results);
    } catch {
      if (this.#answer === null) await this.#showStored(about);
    }
  }

  #isDue(now: Date, runs: readonly RunRow[]): boolean {
    const waited = now.getTime() - this.#askedAt;
    if (waited >= QUIET_MS || this.#me !== appState.me) return true;
    const unsettled = this.#answer === null || !isSettled(this.#answer, runs, now);
    return unsettled && waited >= MOVED_MS;
  }

  async #take(about: string, rows: readonly TodayRow[]): Promise<void> {
    this.#answer = answerOf(rows, appState.runs);
    if (appState.access === "in") await storage.put(KEPT + about, rows);
  }

  /** Without a server, show the last visit's figure as long as its day lasts. */
  async #showStored(about: string): Promise<void> {
    const rows = await storage.get<TodayRow[]>(KEPT + about);
    if (rows && this.#answer === null && about === this.#about)
      this.#answer = { rows, costs: costsOf(appState.runs) };
  }

  #forget(about: string): void {
    this.#about = about;
    this.#answer = null;
    this.#askedAt = -Infinity;
  }
}

export const costToday = new CostTodayStore();

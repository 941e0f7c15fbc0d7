/**
 * What today cost: the server's own sum, and between two answers what the meters added.
 *
 * The server is asked when nothing is known, when money moved (at most every few
 * seconds), after midnight, and when who is here or the project's rules were read anew.
 */
import { query, read } from "../wire/api";
import type { Me, Page, RunRow, TodayRow } from "../wire/types";
import { storage } from "./storage";
import { answerOf, costsOf, isSettled, todayOf, type Today, type Answer } from "./today";
import { appState } from "./appState.svelte";

const MOVED_MS = 5_000;
const QUIET_MS = 5 * 60_000;
const KEPT = "today:";

class TodaysMoney {
  #answer = $state.raw<Answer | null>(null);
  #about: string | null = null;
  #askedAt = -Infinity;
  #me: Me | null = null;

  /** The figure as of now; null: not known (yet, or of another day). */
  at(now: Date, runs: readonly RunRow[]): Today | null {
    return this.#answer && todayOf(this.#answer, runs, now);
  }

  /** Ask again where that is due; a failure leaves what was known. */
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
      if (this.#answer === null) await this.#recall(about);
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

  /** Without a server the last visit's figure stands, while its day lasts. */
  async #recall(about: string): Promise<void> {
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

export const todaysMoney = new TodaysMoney();

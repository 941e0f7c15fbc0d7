/** What a run did, as the server tells it; asked again while the run goes on. */
import { read } from "../wire/api";
import type { RunSummary } from "../wire/types";

const PAUSE_MS = 5_000;
/** A slow answer is asked for less often. */
const REST = 10;

export class RunSummaryStore {
  #told = $state.raw<RunSummary | null>(null);
  #failed = $state.raw(false);
  readonly #run: string;
  #timer: ReturnType<typeof setTimeout> | undefined;
  #restUntil = 0;
  #isStopped = false;

  constructor(run: string) {
    this.#run = run;
  }

  get told(): RunSummary | null {
    return this.#told;
  }
  get failed(): boolean {
    return this.#failed;
  }

  follow(): void {
    this.#timer ??= setTimeout(() => void this.#fetch(), Math.max(0, this.#restUntil - Date.now()));
  }

  stop(): void {
    this.#isStopped = true;
    clearTimeout(this.#timer);
  }

  async #fetch(): Promise<void> {
    const began = Date.now();
    try {
      const told = await read<RunSummary>(`runs/${this.#run}/summary/`);
      if (this.#isStopped) return;
      this.#told = told;
      this.#failed = false;
    } catch {
      this.#failed = true;
    }
    this.#timer = undefined;
    this.#restUntil = Date.now() + Math.max(PAUSE_MS, REST * (Date.now() - began));
  }
}

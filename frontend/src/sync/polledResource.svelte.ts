/** A resource of a run that is fetched again while the run goes on. */
import { read } from "../wire/api";

const POLL_MS = 5_000;
/** A slow answer is fetched less often. */
const REST_FACTOR = 10;

export class PolledResource<Data> {
  #data = $state.raw<Data | null>(null);
  #failed = $state.raw(false);
  readonly #path: string;
  readonly #pause: number;
  #timer: ReturnType<typeof setTimeout> | undefined;
  #restUntil = 0;
  #isStopped = false;

  /** @param pause how long after an answer to wait before the next request, in milliseconds */
  constructor(path: string, pause = POLL_MS) {
    this.#path = path;
    this.#pause = pause;
  }

  get data(): Data | null {
    return this.#data;
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
    this.#timer = undefined;
    try {
      const data = await read<Data>(this.#path);
      if (this.#isStopped) return;
      this.#data = data;
      this.#failed = false;
    } catch {
      this.#failed = true;
    }
    this.#restUntil = Date.now() + Math.max(this.#pause, REST_FACTOR * (Date.now() - began));
  }
}

/**
 * The only clock of the screens: waiting times and ages tick once a second.
 *
 * It follows the server's clock, which all times come from: a device may be minutes off.
 */

class Clock {
  #here = $state.raw(new Date());
  #ahead = $state.raw(0);
  readonly #now = $derived(new Date(this.#here.getTime() + this.#ahead));

  constructor() {
    setInterval(() => {
      if (!document.hidden) this.#here = new Date();
    }, 1000);
    document.addEventListener("visibilitychange", () => {
      this.#here = new Date();
    });
  }

  /** The time by the server's clock, as far as it is known. */
  get now(): Date {
    return this.#now;
  }

  /** The time by this device's clock, for what the device timed itself. */
  get here(): Date {
    return this.#here;
  }

  /** The exact time by the server's clock, not only to the last tick. */
  read(): Date {
    return new Date(Date.now() + this.#ahead);
  }

  /** Adjust to a time that the server has just sent; the transfer time is negligible. */
  follow(at: string): void {
    const ahead = Date.parse(at) - Date.now();
    if (Math.abs(ahead - this.#ahead) > 1_000) this.#ahead = ahead;
    this.#here = new Date();
  }
}

export const clock = new Clock();

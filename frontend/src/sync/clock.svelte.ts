/**
 * The one clock of the screen: waits and ages tick once a second.
 *
 * It goes by the server's, whose moments it is measured against: a device may be minutes wrong.
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

  /** On the server's clock, as far as it is known. */
  get now(): Date {
    return this.#now;
  }

  /** On this device's clock: for what it timed by itself. */
  get here(): Date {
    return this.#here;
  }

  /** This very moment on the server's clock, whether or not anybody looks. */
  read(): Date {
    return new Date(Date.now() + this.#ahead);
  }

  /** Go by a moment that the server has just told; what its way took changes nothing. */
  follow(at: string): void {
    const ahead = Date.parse(at) - Date.now();
    if (Math.abs(ahead - this.#ahead) > 1_000) this.#ahead = ahead;
    this.#here = new Date();
  }
}

export const clock = new Clock();

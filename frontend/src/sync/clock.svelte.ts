/** The one clock of the screen: waits and ages tick once a second. */

class Clock {
  #now = $state.raw(new Date());

  constructor() {
    setInterval(() => {
      if (!document.hidden) this.#now = new Date();
    }, 1000);
    document.addEventListener("visibilitychange", () => {
      this.#now = new Date();
    });
  }

  get now(): Date {
    return this.#now;
  }
}

export const clock = new Clock();

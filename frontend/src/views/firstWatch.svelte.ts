/** The first start: shown while nothing was ever heard, and until the first run was seen arriving. */
import { world } from "../sync/world.svelte";

export class FirstWatch {
  #waited = $state.raw(false);
  #left = $state.raw(false);

  constructor() {
    $effect(() => {
      if (!world.isBlank && world.runs.length === 0 && world.open.length === 0) this.#waited = true;
    });
  }

  get isShown(): boolean {
    if (world.open.length > 0 || world.runs.length > 1) return false;
    return world.runs.length === 0 || (this.#waited && !this.#left);
  }

  leave(): void {
    this.#left = true;
  }
}

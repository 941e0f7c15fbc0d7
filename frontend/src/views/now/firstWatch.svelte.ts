/** Whether the empty board is shown: until the first run, and while its arrival is watched. */
import { appState } from "../../sync/appState.svelte";

export class FirstWatch {
  #waited = $state.raw(false);
  #left = $state.raw(false);

  constructor() {
    $effect(() => {
      if (!appState.isBlank && appState.runs.length === 0 && appState.open.length === 0)
        this.#waited = true;
    });
  }

  get isShown(): boolean {
    if (appState.open.length > 0 || appState.runs.length > 1) return false;
    return appState.runs.length === 0 || (this.#waited && !this.#left);
  }

  leave(): void {
    this.#left = true;
  }
}

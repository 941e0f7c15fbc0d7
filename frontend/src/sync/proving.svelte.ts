/** Identity confirmation, which the server requires before keys, members or secrets change. */
import { onSignInAgain } from "../wire/api";

class Proving {
  #ways = $state.raw<readonly string[] | null>(null);
  #waiting: ((isProved: boolean) => void)[] = [];

  constructor() {
    onSignInAgain((ways) => this.#ask(ways));
  }

  /** The methods by which this person can confirm it; null: no confirmation is required now. */
  get ways(): readonly string[] | null {
    return this.#ways;
  }

  /** Repeat the refused request, or give it up. */
  answer(isProved: boolean): void {
    this.#ways = null;
    for (const goOn of this.#waiting.splice(0)) goOn(isProved);
  }

  #ask(ways: readonly string[]): Promise<boolean> {
    this.#ways = ways;
    return new Promise((resolve) => this.#waiting.push(resolve));
  }
}

export const proving = new Proving();

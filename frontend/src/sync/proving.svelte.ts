/** What the server asks for before keys, members and secrets are changed: that it is still you. */
import { onSignInAgain } from "../wire/api";

class Proving {
  #ways = $state.raw<readonly string[] | null>(null);
  #waiting: ((isProved: boolean) => void)[] = [];

  constructor() {
    onSignInAgain((ways) => this.#ask(ways));
  }

  /** The ways by which this person can prove it; null: nobody asks. */
  get ways(): readonly string[] | null {
    return this.#ways;
  }

  /** Go on with what was refused, or leave it. */
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

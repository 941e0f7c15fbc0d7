/** Identity confirmation, which the server requires before keys, members or secrets change. */
import { onReauthenticate } from "../wire/api";

class Reauthentication {
  #methods = $state.raw<readonly string[] | null>(null);
  #waiting: ((isProved: boolean) => void)[] = [];

  constructor() {
    onReauthenticate((methods) => this.#ask(methods));
  }

  /** The methods by which this person can confirm it; null: no confirmation is required now. */
  get methods(): readonly string[] | null {
    return this.#methods;
  }

  /** Repeat the refused request, or give it up. */
  answer(isProved: boolean): void {
    this.#methods = null;
    for (const goOn of this.#waiting.splice(0)) goOn(isProved);
  }

  #ask(methods: readonly string[]): Promise<boolean> {
    this.#methods = methods;
    return new Promise((resolve) => this.#waiting.push(resolve));
  }
}

export const reauthentication = new Reauthentication();

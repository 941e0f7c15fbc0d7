/** An action that a form or a row requests: whether it is in progress, and its result. */
import { refused } from "../messages/refused";

export class Mutation {
  #running = $state(0);
  #error = $state("");
  #notice = $state("");
  readonly #unreachable: () => string;
  readonly #reasonOf: (error: unknown) => string;

  /**
   * @param unreachable the text for when the server could not be reached
   * @param reasonOf the form's own text for an error; empty: the usual one
   */
  constructor(unreachable: () => string, reasonOf: (error: unknown) => string = () => "") {
    this.#unreachable = unreachable;
    this.#reasonOf = reasonOf;
  }

  get busy(): boolean {
    return this.#running > 0;
  }
  get error(): string {
    return this.#error;
  }

  /** The text shown after the last action succeeded. */
  get notice(): string {
    return this.#notice;
  }

  reset(): void {
    this.#error = this.#notice = "";
  }

  /** Run the action and return whether it succeeded; then `notice` is shown. */
  async run(action: () => Promise<unknown>, notice = ""): Promise<boolean> {
    this.#running += 1;
    this.reset(); // so that a screen reader reads a repeated reason again
    try {
      await action();
      this.#notice = notice;
      return true; // whatever the result of another action made meanwhile
    } catch (error) {
      this.#error = this.#reasonOf(error) || (await refused(error, this.#unreachable()));
      return false;
    } finally {
      this.#running -= 1;
    }
  }
}

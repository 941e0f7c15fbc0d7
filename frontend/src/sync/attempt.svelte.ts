/** What a person asks for by a form or a row: whether it is under way, and why it was not taken. */
import { refused } from "../messages/refused";

export class Attempt {
  #busy = $state(false);
  #wrong = $state("");

  constructor(
    /** What is said where the server was not reached. */
    private readonly unreachable: () => string,
    /** A reason in words of the form's own. */
    private readonly reasonOf: (error: unknown) => string = () => "",
  ) {}

  get busy(): boolean {
    return this.#busy;
  }
  get wrong(): string {
    return this.#wrong;
  }

  forget(): void {
    this.#wrong = "";
  }

  /** Whether it was taken. */
  async make(action: () => Promise<unknown>): Promise<boolean> {
    this.#busy = true;
    this.forget(); // the same reason once more is read out once more
    try {
      await action();
    } catch (error) {
      this.#wrong = this.reasonOf(error) || (await refused(error, this.unreachable()));
    }
    this.#busy = false;
    return this.#wrong === "";
  }
}

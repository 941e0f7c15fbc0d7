/** An action that a form or a row requests: whether it is in progress, and its result. */
import { refused } from "../messages/refused";

export class Attempt {
  #underWay = $state(0);
  #wrong = $state("");
  #notice = $state("");

  constructor(
    /** The text for when the server could not be reached. */
    private readonly unreachable: () => string,
    /** The form's own text for an error; empty: the usual one. */
    private readonly reasonOf: (error: unknown) => string = () => "",
  ) {}

  get busy(): boolean {
    return this.#underWay > 0;
  }
  get wrong(): string {
    return this.#wrong;
  }

  /** The text shown after the last action succeeded. */
  get notice(): string {
    return this.#notice;
  }

  forget(): void {
    this.#wrong = this.#notice = "";
  }

  /** Run the action and return whether it succeeded; then `notice` is shown. */
  async make(action: () => Promise<unknown>, notice = ""): Promise<boolean> {
    this.#underWay += 1;
    this.forget(); // so that a screen reader reads a repeated reason again
    try {
      await action();
      this.#notice = notice;
      return true; // whatever the result of another action made meanwhile
    } catch (error) {
      this.#wrong = this.reasonOf(error) || (await refused(error, this.unreachable()));
      return false;
    } finally {
      this.#underWay -= 1;
    }
  }
}

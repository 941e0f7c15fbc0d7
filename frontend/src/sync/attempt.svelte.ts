/** What a person asks for by a form or a row: whether it is under way, and why it was not taken. */
import { refused } from "../messages/refused";

export class Attempt {
  #underWay = $state(0);
  #wrong = $state("");

  constructor(
    /** What is said where the server was not reached. */
    private readonly unreachable: () => string,
    /** A reason in words of the form's own. */
    private readonly reasonOf: (error: unknown) => string = () => "",
  ) {}

  get busy(): boolean {
    return this.#underWay > 0;
  }
  get wrong(): string {
    return this.#wrong;
  }

  forget(): void {
    this.#wrong = "";
  }

  /** Whether it was taken. */
  async make(action: () => Promise<unknown>): Promise<boolean> {
    this.#underWay += 1;
    this.forget(); // the same reason once more is read out once more
    try {
      await action();
      return true; // whatever another one, made meanwhile, came to
    } catch (error) {
      this.#wrong = this.reasonOf(error) || (await refused(error, this.unreachable()));
      return false;
    } finally {
      this.#underWay -= 1;
    }
  }
}

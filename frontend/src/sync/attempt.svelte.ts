/** What a person asks for by a form or a row: whether it is under way, and what came of it. */
import { refused } from "../messages/refused";

export class Attempt {
  #underWay = $state(0);
  #wrong = $state("");
  #notice = $state("");

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

  /** What is said of the last one once it was taken. */
  get notice(): string {
    return this.#notice;
  }

  forget(): void {
    this.#wrong = this.#notice = "";
  }

  /** Whether it was taken; `notice` is what is said then. */
  async make(action: () => Promise<unknown>, notice = ""): Promise<boolean> {
    this.#underWay += 1;
    this.forget(); // the same reason once more is read out once more
    try {
      await action();
      this.#notice = notice;
      return true; // whatever another one, made meanwhile, came to
    } catch (error) {
      this.#wrong = this.reasonOf(error) || (await refused(error, this.unreachable()));
      return false;
    } finally {
      this.#underWay -= 1;
    }
  }
}

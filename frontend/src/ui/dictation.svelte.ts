/** Speech to text by the browser, where it supports that; our code receives no audio. */
import { speech } from "../messages/speech.svelte";

interface Recognizer {
  lang: string;
  interimResults: boolean;
  onresult: ((event: { results: ArrayLike<ArrayLike<{ transcript: string }>> }) => void) | null;
  onerror: (() => void) | null;
  onend: (() => void) | null;
  start(): void;
  stop(): void;
}
type Maker = new () => Recognizer;

export class Dictation {
  #on = $state.raw(false);
  #failed = $state.raw(false);
  #recognizer: Recognizer | null = null;
  readonly #onText: (text: string) => void;

  constructor(onText: (text: string) => void) {
    this.#onText = onText;
  }

  static get exists(): boolean {
    return makerOf(globalThis) !== null;
  }
  get on(): boolean {
    return this.#on;
  }
  get failed(): boolean {
    return this.#failed;
  }

  start(): void {
    const Made = makerOf(globalThis);
    if (!Made || this.#on) return;
    const recognizer = new Made();
    recognizer.lang = speech.numbers;
    recognizer.onresult = ({ results }) =>
      this.#onText([...Array.from(results)].map((parts) => parts[0]?.transcript ?? "").join(" "));
    recognizer.onerror = () => (this.#failed = true);
    recognizer.onend = () => (this.#on = false);
    this.#recognizer = recognizer;
    [this.#on, this.#failed] = [true, false];
    recognizer.start();
  }

  stop(): void {
    this.#recognizer?.stop();
  }
}

function makerOf(scope: object): Maker | null {
  const made: unknown =
    Reflect.get(scope, "SpeechRecognition") ?? Reflect.get(scope, "webkitSpeechRecognition");
  return isMaker(made) ? made : null;
}

function isMaker(made: unknown): made is Maker {
  return typeof made === "function";
}

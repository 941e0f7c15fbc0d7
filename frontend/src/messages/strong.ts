/** Emphasised names in sentences, at any position. Pure. */

/** Unicode's invisible marks for isolated text (FSI and PDI). */
const [OPEN, CLOSE] = ["\u2068", "\u2069"];

/** Mark a name that `Emphasis.svelte` draws bold. */
export function strong(name: string): string {
  return `${OPEN}${name.replaceAll(OPEN, "").replaceAll(CLOSE, "")}${CLOSE}`;
}

export interface Part {
  text: string;
  strong: boolean;
}

export function partsOf(sentence: string): Part[] {
  return sentence
    .split(/(\u2068[^\u2069]*\u2069)/)
    .filter((text) => text !== "")
    .map((text) =>
      text.startsWith(OPEN) ? { text: text.slice(1, -1), strong: true } : { text, strong: false },
    );
}

import { speech } from "../messages/speech.svelte";

/**
 * A number as people type it, for a field's `pattern`: three digits behind a sign may be thousands.
 * What `stands` in the field is known, and is not asked for again.
 */
export function typedPattern(stands = "", language = speech.language): string {
  const point = language === "de" ? "[0-9]{1,2}|[0-9]{4,}" : "[0-9]+";
  const known = stands && `|${stands.replace(".", "[.]")}`;
  return String.raw`\s*([0-9]+([.](${point})|,[0-9]{1,2})?|0[.,][0-9]+${known})\s*`;
}

/** A stored number as its field shows it: in German a point would stand before thousands. */
export function shownNumber(stored: string, language = speech.language): string {
  return language === "de" ? stored.replace(".", ",") : stored;
}

/** Whether a text is one number, and not two to two readers: what a field with the pattern takes. */
export function isNumber(typed: string, language = speech.language): boolean {
  return new RegExp(`^(?:${typedPattern("", language)})$`).test(typed);
}

/** The number that was typed, with a point: a phone set to German has only a comma. Anything else as it is. */
export function typedNumber(text: string): string {
  return text.trim().replace(/^(0|\d+(?=,\d\d?$)),(?=\d+$)/, "$1.");
}

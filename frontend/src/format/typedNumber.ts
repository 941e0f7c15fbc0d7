import { speech } from "../messages/speech.svelte";

/**
 * Return a `pattern` for numbers as people type them. Three digits after a separator that may mark
 * thousands are refused, except in the value that already `stands` in the field.
 */
export function typedPattern(stands = "", language = speech.language): string {
  const point = language === "de" ? "[0-9]{1,2}|[0-9]{4,}" : "[0-9]+";
  const known = stands && `|${stands.replace(".", "[.]")}`;
  return String.raw`\s*([0-9]+([.](${point})|,[0-9]{1,2})?|0[.,][0-9]+${known})\s*`;
}

/** Return a stored number as its field shows it: in German, a point would separate thousands. */
export function shownNumber(stored: string, language = speech.language): string {
  return language === "de" ? stored.replace(".", ",") : stored;
}

/** Return whether a text is an unambiguous number, which a field with the pattern accepts. */
export function isNumber(typed: string, language = speech.language): boolean {
  return new RegExp(`^(?:${typedPattern("", language)})$`).test(typed);
}

/** Replace a decimal comma by a point, as German phones type only a comma; keep other texts. */
export function typedNumber(text: string): string {
  return text.trim().replace(/^(0|\d+(?=,\d\d?$)),(?=\d+$)/, "$1.");
}

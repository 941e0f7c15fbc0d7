/** Untrusted text, made safe to display: nothing hidden, nothing reordered. Pure. */

const CONTROL_PICTURES = 0x2400;

/**
 * Replace control characters by their symbols (␛), and marks that change the text direction by
 * their names, so that a text cannot look like another one.
 */
export function plain(text: string): string {
  return HIDDEN.test(text) ? text.replace(EACH_HIDDEN, visibleForm) : text;
}

/** Return a text for search, without the differences of case and accents. */
export function folded(text: string): string {
  return text.normalize("NFD").replace(/\p{M}/gu, "").toLowerCase();
}

/** Return the beginning of a text, for one line of a list. */
export function oneLine(text: string, maxLength = 300): string {
  return plain(text.slice(0, maxLength).replace(/\s+/g, " "));
}

// C0 except tab and line feed, DEL, C1, bidirectional overrides and isolates, invisible joiners.
const HIDDEN =
  /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u200b\u200e\u200f\u202a-\u202e\u2060-\u2069\ufeff]/;
const EACH_HIDDEN = new RegExp(HIDDEN.source, "g");

function visibleForm(sign: string): string {
  const code = sign.codePointAt(0) ?? 0;
  if (sign === "\r") return "";
  if (code < 0x20) return String.fromCodePoint(CONTROL_PICTURES + code);
  if (code === 0x7f) return "\u2421";
  return `[U+${code.toString(16).toUpperCase().padStart(4, "0")}]`;
}

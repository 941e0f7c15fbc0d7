/** Text of a stranger, made safe to look at: nothing hidden, nothing turned round. Pure. */

const PICTURES = 0x2400;

/**
 * Controls become their pictures (␛), marks that turn the direction of reading their names:
 * a text must not be able to show itself as another.
 */
export function plain(text: string): string {
  return HIDDEN.test(text) ? text.replace(EACH_HIDDEN, shown) : text;
}

/** A text as it is searched: capitals and accents make no difference. */
export function folded(text: string): string {
  return text.normalize("NFD").replace(/\p{M}/gu, "").toLowerCase();
}

/** The beginning of a text for one line of a list. */
export function oneLine(text: string, most = 300): string {
  return plain(text.slice(0, most).replace(/\s+/g, " "));
}

// C0 but tab and line feed, DEL, C1, bidirectional overrides and isolates, invisible joiners of nothing.
const HIDDEN =
  /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u200b\u200e\u200f\u202a-\u202e\u2060-\u2069\ufeff]/;
const EACH_HIDDEN = new RegExp(HIDDEN.source, "g");

function shown(sign: string): string {
  const code = sign.codePointAt(0) ?? 0;
  if (sign === "\r") return "";
  if (code < 0x20) return String.fromCodePoint(PICTURES + code);
  if (code === 0x7f) return "\u2421";
  return `[U+${code.toString(16).toUpperCase().padStart(4, "0")}]`;
}

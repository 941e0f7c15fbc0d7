/** Words that depend on a number. Pure except for the selected language. */
import { speech } from "./speech.svelte";

/** A word in the forms that its language has: English and German have two. */
export type Forms = Partial<Record<Intl.LDMLPluralRule, string>> & { other: string };

const rules = new Map<string, Intl.PluralRules>();

/** Return the form of a word for `n`: `form(2, { one: "run", other: "runs" })`. */
export function form(n: number, forms: Forms): string {
  return forms[ruleOf(speech.language).select(n)] ?? forms.other;
}

/** Return a number with its word: "1,204 turns". */
export function counted(n: number, forms: Forms): string {
  return `${n.toLocaleString(speech.numbers)} ${form(n, forms)}`;
}

function ruleOf(language: string): Intl.PluralRules {
  const known = rules.get(language) ?? new Intl.PluralRules(language);
  rules.set(language, known);
  return known;
}

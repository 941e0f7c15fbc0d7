import ts from "typescript";
import { describe, expect, it } from "vitest";
import glossary from "./glossary.json";

/** All but what the guard wrote down: it has words of its own, and old rows keep theirs. */
const sources = import.meta.glob<string>(["./en/*.ts", "./de/*.ts", "!./*/{index,record}.ts"], {
  eager: true,
  query: "?raw",
  import: "default",
});
/** A title, a label, a button: a few words that are no sentence. */
const MOST_WORDS = 3;
const english = textsIn("/en/");
const german = textsIn("/de/");

describe("every text", () => {
  it.each(glossary.terms)("says $en, and none of its other names", ({ notEn }) => {
    expect(english.filter((text) => saysOneOf(text, notEn))).toEqual([]);
  });

  it.each(glossary.terms)("says $de in German, and none of its other names", ({ notDe }) => {
    expect(german.filter((text) => saysOneOf(text, notDe))).toEqual([]);
  });

  it.each(glossary.terms)("of some screen needs $en", ({ en, de }) => {
    expect(english.some((text) => saysOneOf(text, [en]))).toBe(true);
    expect(german.some((text) => text.toLowerCase().includes(de.toLowerCase()))).toBe(true);
  });
});

it("has no word in a title, label or button that the glossary does not list", () => {
  const known = new Set([...glossary.words, ...glossary.terms.flatMap(({ en }) => wordsOf(en))]);

  expect([...new Set(labels().filter((word) => !known.has(word)))].sort()).toEqual([]);
});

function labels(): string[] {
  const short = english.filter(
    (text) => text.split(/\s+/).length <= MOST_WORDS && !/[.?!:…]$/.test(text.trim()),
  );
  return short.flatMap(wordsOf);
}

function wordsOf(text: string): string[] {
  return text.toLowerCase().match(/\p{L}[\p{L}’'-]*\p{L}/gu) ?? [];
}

function saysOneOf(text: string, phrases: readonly string[]): boolean {
  return phrases.some((phrase) => new RegExp(`(?<!\\p{L})${phrase}(?!\\p{L})`, "iu").test(text));
}

/** The texts of all catalogues of a language; a text with gaps in its parts. */
function textsIn(folder: string): string[] {
  const ours = Object.entries(sources).filter(([path]) => path.includes(folder));
  return ours.flatMap(([path, text]) =>
    textsBelow(ts.createSourceFile(path, text, ts.ScriptTarget.ESNext)),
  );
}

function textsBelow(node: ts.Node): string[] {
  if (ts.isImportDeclaration(node)) return [];
  const isText =
    ts.isStringLiteralLike(node) ||
    ts.isTemplateHead(node) ||
    ts.isTemplateMiddle(node) ||
    ts.isTemplateTail(node);
  if (isText) return node.text.trim() === "" ? [] : [node.text];
  const below: string[] = [];
  ts.forEachChild(node, (child) => void below.push(...textsBelow(child)));
  return below;
}

import { describe, expect, it } from "vitest";
import german from "./de/record";
import english from "./en/record";
import sentences from "./sentences.json";

/** Letters have a plain hyphen where a screen must not break a line. */
const asLetters = (text: string) => text.replaceAll("\u2011", "-");

describe("the guard's sentences", () => {
  it.each(sentences)("%s", (said = "", translated = "") => {
    expect(asLetters(german.sentence(said))).toBe(translated);
    expect(english.sentence(said)).toBe(said);
  });

  it("are shown as they were written where they are not known", () => {
    expect(german.sentence("A judge's own words.")).toBe("A judge's own words.");
  });
});

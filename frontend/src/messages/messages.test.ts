import { describe, expect, it } from "vitest";
import { counted } from "./plural";
import { preferred } from "./speech.svelte";
import { partsOf, strong } from "./strong";
import * as texts from "./texts";

const english = import.meta.glob<object>(["./en/*.ts", "!./en/index.ts"], {
  eager: true,
  import: "default",
});
const german = import.meta.glob<object>(["./de/*.ts", "!./de/index.ts"], {
  eager: true,
  import: "default",
});
const views = Object.keys(english).map((path) => path.slice("./en/".length, -".ts".length));

describe("the catalogues", () => {
  it("hold every view in every language", () => {
    expect(Object.keys(german).map((path) => path.slice("./de/".length, -".ts".length))).toEqual(
      views,
    );
    expect(Object.keys(texts).sort()).toEqual([...views].sort());
  });

  it.each(views)("say all of %s", (view) => {
    expect(shapeOf(german[`./de/${view}.ts`])).toEqual(shapeOf(english[`./en/${view}.ts`]));
  });
});

/** Every key down to a text, and whether that is a text or needs to be told something. */
function shapeOf(texts: unknown): unknown {
  if (typeof texts !== "object" || texts === null) return typeof texts;
  return Object.fromEntries(Object.entries(texts).map(([key, value]) => [key, shapeOf(value)]));
}

it("speaks German without an address, and keeps a unit with its number", () => {
  const german = Object.values(
    import.meta.glob<string>("./de/*.ts", { eager: true, query: "?raw", import: "default" }),
  ).join("\n");

  expect(german.match(/\b(du|dich|dir|dein\w*|Ihre?[mnrs]?)\b/g) ?? []).toEqual([]);
  expect(german.match(/[\d}] (s|h|min|%|\$)[`".,;:)]/g) ?? []).toEqual([]);
});

it("speaks the first language of the browser's that it knows", () => {
  expect([
    preferred(["de-AT", "en"]),
    preferred(["fr", "de"]),
    preferred(["fr"]),
    preferred([]),
  ]).toEqual(["de", "de", "en", "en"]);
});

it("counts with the right form", () => {
  const forms = { one: "turn", other: "turns" };

  expect([counted(0, forms), counted(1, forms), counted(1204, forms)]).toEqual([
    "0 turns",
    "1 turn",
    "1,204 turns",
  ]);
});

it("marks names in a sentence, and no name can mark itself", () => {
  expect(partsOf(`Sent to ${strong("a\u2069b")}.`)).toEqual([
    { text: "Sent to ", strong: false },
    { text: "ab", strong: true },
    { text: ".", strong: false },
  ]);
});

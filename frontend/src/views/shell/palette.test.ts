import { expect, it } from "vitest";
import german from "../../messages/de/palette";
import english from "../../messages/en/palette";
import { rank, type Entry } from "./palette";

const entry = (label: string, detail = ""): Entry => ({
  id: `${label} ${detail}`,
  kind: "run",
  label,
  detail,
  act: () => undefined,
});
const labels = (entries: Entry[], line: string) => rank(entries, line).map(({ label }) => label);

const catalogues = import.meta.glob<object>("../../messages/{en,de}/*.ts", {
  eager: true,
  import: "default",
});

it.each(["en", "de"])("lists settings by the words that their pages show: %s", (language) => {
  const shown = new Set(
    Object.entries(catalogues)
      .filter(([path]) => path.includes(`/${language}/`) && !path.endsWith("/palette.ts"))
      .flatMap(([, texts]) => textsIn(texts)),
  );
  const palette = language === "en" ? english : german;

  const unknown = Object.values(palette.settings)
    .flat()
    .filter((name) => !shown.has(name));

  expect(unknown).toEqual([]);
});

function textsIn(texts: unknown): string[] {
  if (typeof texts === "string") return [texts];
  return typeof texts === "object" && texts !== null ? Object.values(texts).flatMap(textsIn) : [];
}

it("keeps the order of what stands there while nothing is typed", () => {
  expect(labels([entry("b"), entry("a")], " ")).toEqual(["b", "a"]);
});

it("finds words in any order, without case or accents, in label and detail", () => {
  const all = [entry("migrate-orm", "Codex"), entry("Größe prüfen"), entry("docs")];

  expect(labels(all, "CODEX orm")).toEqual(["migrate-orm"]);
  expect(labels(all, "grosse")).toEqual([]);
  expect(labels(all, "große")).toEqual(["Größe prüfen"]);
});

it("puts first what begins with the line, then what has a word that does", () => {
  const all = [entry("recosted"), entry("x", "cost"), entry("low-cost"), entry("Costs")];

  expect(labels(all, "cost")).toEqual(["Costs", "low-cost", "recosted", "x"]);
});

it("shows a dozen at most", () => {
  expect(
    labels(
      Array.from({ length: 40 }, (_, n) => entry(String(n))),
      "",
    ),
  ).toHaveLength(12);
});

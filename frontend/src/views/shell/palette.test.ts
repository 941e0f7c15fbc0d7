import { expect, it } from "vitest";
import german from "../../messages/de/palette";
import english from "../../messages/en/palette";
import { aDecision, aRun } from "../../fixtures/rows";
import { cardActionsOf, inGroups, keyWords, partsOf, rank, type Entry } from "./palette";

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

it("stands what is done first, then runs, turns, places, and what ends a run last", () => {
  const kinds = ["screen", "turn", "run", "action"] as const;
  const all = kinds.map((kind) => ({ ...entry(kind), kind }));
  const ends: Entry = { ...entry("Terminate x"), kind: "action", isLast: true };

  expect(inGroups([ends, ...all], "x").map(({ label }) => label)).toEqual([
    "action",
    "run",
    "turn",
    "screen",
    "Terminate x",
  ]);
});

const answer = (called: string, run: string): Entry => ({
  ...entry(`${called}: ${run}`),
  kind: "action",
  answers: { called, run },
});

it("leads whoever types a run's name to the run, and to an answer where both are named", () => {
  const all = [answer("Inject fix", "auth-tests"), entry("auth-tests")];
  const first = (line: string) => inGroups(all, line)[0]?.label;

  expect(first("auth-tests")).toBe("auth-tests");
  expect(first("auth in")).toBe("auth-tests");
  expect(first("fix")).toBe("auth-tests");
  expect(first("inj AUTH")).toBe("Inject fix: auth-tests");
});

it("takes one word for the answer's name or for the run's, never for both", () => {
  const many = [1, 2, 3].map((n) => answer("Continue", `config-${String(n)}`));
  const first = (line: string) => inGroups(many, line)[0]?.group;

  expect(first("con")).toBe("answers");
  expect(first("con config")).toBe("do");
  expect(first("config-2 cont")).toBe("do");
});

it("takes a line that may be a run's name for that name", () => {
  const all = [answer("Inject fix", "auth-server"), entry("auth-server"), entry("fix-auth")];
  const groups = (line: string) => inGroups(all, line).map(({ group }) => group);

  expect(groups("fix auth")).toEqual(["runs", "runs", "answers"]);
  expect(groups("inject auth")).toEqual(["do", "runs", "runs"]);
});

it("lists what ends a run only when that is typed", () => {
  const ends: Entry = { ...entry("Terminate fix-auth"), isLast: true };

  expect(labels([ends], "auth")).toEqual([]);
  expect(labels([ends], "te")).toEqual([]);
  expect(labels([ends], "ter auth")).toEqual(["Terminate fix-auth"]);
});

it("marks what matches, also without case and accents", () => {
  expect(partsOf("fix-Auth-tests", "auth")).toEqual(["fix-", "Auth", "-tests"]);
  expect(partsOf("fix-auth", "codex auth")).toEqual(["fix-", "auth", ""]);
  expect(partsOf("docs", "auth")).toEqual(["docs", "", ""]);
});

it("sends a fix only where it stands in full", () => {
  const card = aDecision();
  const inject = (fix: string) =>
    cardActionsOf(card, aRun(), fix).find(({ action }) => action === "inject");

  expect(inject("Read token.py.")).toMatchObject({ text: "Read token.py.", isRead: false });
  expect(inject("x".repeat(121))?.isRead).toBe(true);
  expect(keyWords("inject")).toBe("I");
  expect(keyWords("go costs")).toBe("G C");
});

import { expect, it } from "vitest";
import { aRun, NOON } from "../../fixtures/rows";
import { isMeant } from "./board";

const run = aRun({ name: "Größe prüfen", agent: "codex", doing: "Bash pytest -q" });
const meant = (line: string) => isMeant(run, line, new Date(NOON));

it.each(["", "  ", "größe", "GRÖßE", "pytest", "codex prüf", "running"])(
  "finds a run by what its row says: %j",
  (line) => {
    expect(meant(line)).toBe(true);
  },
);

it("asks for every word", () => {
  expect(meant("codex mypy")).toBe(false);
});

import { expect, it } from "vitest";
import { aRun, NOON } from "../../fixtures/rows";
import { isListed, matchesSearch } from "./listedRuns";

const run = aRun({ name: "Größe prüfen", agent: "codex", doing: "Bash pytest -q" });
const meant = (line: string) => matchesSearch(run, line, new Date(NOON));

it.each(["", "  ", "größe", "GRÖßE", "pytest", "codex prüf", "running"])(
  "finds a run by what its row says: %j",
  (line) => {
    expect(meant(line)).toBe(true);
  },
);

it("asks for every word", () => {
  expect(meant("codex mypy")).toBe(false);
});

it("lists what runs, and for an hour what lost contact: it may still run", () => {
  const at = new Date(Date.parse(NOON) + 3_600_000);
  const lost = (ended_at: string) => aRun({ status: "lost", ended_at });

  expect(isListed(aRun(), at)).toBe(true);
  expect(isListed(aRun({ status: "held", open_decisions: 1 }), at)).toBe(false);
  expect(isListed(aRun({ status: "completed", ended_at: NOON }), at)).toBe(false);
  expect(isListed(lost("2026-07-24T12:30:00Z"), new Date("2026-07-24T13:00:00Z"))).toBe(true);
  expect(isListed(lost("2026-07-24T12:30:00Z"), new Date("2026-07-24T14:00:00Z"))).toBe(false);
});

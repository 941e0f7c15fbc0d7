import { expect, it } from "vitest";
import { asked, auditPath, filterOf, type AuditFilter } from "./auditFilter";

const EVERYTHING: AuditFilter = { view: "actions", by: "", run: "", when: "any" };

it.each([
  EVERYTHING,
  { view: "people", by: "Ana Ruiz", run: "r1", when: "week" },
] satisfies AuditFilter[])("reads back the address of %j", (filter) => {
  expect(filterOf(new URL(auditPath(filter), "http://x").searchParams)).toEqual(filter);
});

it("takes nonsense in the address for no filter", () => {
  expect(filterOf(new URLSearchParams("view=x&when=someday"))).toEqual(EVERYTHING);
  expect(auditPath(EVERYTHING)).toBe("/audit");
});

it("asks since a moment", () => {
  const question = asked(
    { ...EVERYTHING, view: "all", when: "day" },
    "p",
    new Date("2026-11-22T10:00:00Z"),
  );

  expect(question).toBe("?project=p&since=2026-11-21T10%3A00%3A00.000Z");
});

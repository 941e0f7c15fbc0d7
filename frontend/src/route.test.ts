import { expect, it } from "vitest";
import { comparePath, decisionPath, reportPath, routeOf, runPath, turnPath } from "./route";

it.each([
  ["/", { name: "now" }],
  ["/decisions", { name: "decisions", id: null }],
  ["/decisions/d1", { name: "decisions", id: "d1" }],
  ["/runs/r%201/", { name: "run", id: "r 1", turn: null }],
  ["/runs/r%201/turns/770", { name: "run", id: "r 1", turn: 770 }],
  ["/runs/r/turns/x", { name: "lost", path: "/runs/r/turns/x" }],
  ["/history", { name: "history" }],
  ["/compare", { name: "compare" }],
  ["/policies", { name: "policies" }],
  ["/audit", { name: "audit" }],
  ["/reports", { name: "reports", id: null }],
  ["/reports/r1", { name: "reports", id: "r1" }],
  ["/settings", { name: "settings", page: "" }],
  ["/settings/keys", { name: "settings", page: "keys" }],
  ["/settings/keys/more", { name: "lost", path: "/settings/keys/more" }],
  ["/runs", { name: "lost", path: "/runs" }],
  ["/history/more", { name: "lost", path: "/history/more" }],
  ["/runs/a/b", { name: "lost", path: "/runs/a/b" }],
  ["/nowhere", { name: "lost", path: "/nowhere" }],
  ["/%E0%A4%A", { name: "lost", path: "/%E0%A4%A" }],
])("reads %s", (path, route) => {
  expect(routeOf(path)).toEqual(route);
});

it("writes addresses that it reads back", () => {
  expect(routeOf(runPath("a/b"))).toEqual({ name: "run", id: "a/b", turn: null });
  expect(routeOf(turnPath("a/b", 7))).toEqual({ name: "run", id: "a/b", turn: 7 });
  expect(routeOf(reportPath("r 1"))).toEqual({ name: "reports", id: "r 1" });
  expect(routeOf(decisionPath("d 1"))).toEqual({ name: "decisions", id: "d 1" });
});

it("names both runs of a comparison, or one", () => {
  expect(comparePath("1", "2")).toBe("/compare?a=1&b=2");
  expect(comparePath("a&b")).toBe("/compare?a=a%26b");
});

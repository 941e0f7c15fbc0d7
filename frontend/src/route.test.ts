import { expect, it } from "vitest";
import { decisionPath, routeOf, runPath } from "./route";

it.each([
  ["/", { name: "now" }],
  ["/decisions", { name: "decisions", id: null }],
  ["/decisions/d1", { name: "decisions", id: "d1" }],
  ["/runs/r%201/", { name: "run", id: "r 1" }],
  ["/history", { name: "history" }],
  ["/policies", { name: "policies" }],
  ["/audit", { name: "audit" }],
  ["/runs", { name: "lost", path: "/runs" }],
  ["/history/more", { name: "lost", path: "/history/more" }],
  ["/runs/a/b", { name: "lost", path: "/runs/a/b" }],
  ["/nowhere", { name: "lost", path: "/nowhere" }],
  ["/%E0%A4%A", { name: "lost", path: "/%E0%A4%A" }],
])("reads %s", (path, route) => {
  expect(routeOf(path)).toEqual(route);
});

it("writes addresses that it reads back", () => {
  expect(routeOf(runPath("a/b"))).toEqual({ name: "run", id: "a/b" });
  expect(routeOf(decisionPath("d 1"))).toEqual({ name: "decisions", id: "d 1" });
});

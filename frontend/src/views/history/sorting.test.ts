import { expect, it } from "vitest";
import { ariaSort, nextSort, sortOf } from "./sorting";

it("taps through a column's orders, figures with the highest first", () => {
  expect([nextSort("", "cost"), nextSort("-cost", "cost"), nextSort("cost", "cost")]).toEqual([
    "-cost",
    "cost",
    "",
  ]);
  expect([nextSort("", "name"), nextSort("name", "name"), nextSort("-name", "name")]).toEqual([
    "name",
    "-name",
    "",
  ]);
  expect(nextSort("-cost", "turns")).toBe("-turns");
});

it("reads an order from the address, and nothing else", () => {
  expect(sortOf(new URLSearchParams("q=x&sort=-cost"))).toBe("-cost");
  expect(sortOf(new URLSearchParams("sort=colour"))).toBe("");
  expect(sortOf(new URLSearchParams(""))).toBe("");
});

it("tells readers which way a column goes", () => {
  expect([ariaSort("-cost", "cost"), ariaSort("cost", "cost"), ariaSort("", "cost")]).toEqual([
    "descending",
    "ascending",
    undefined,
  ]);
});

it("knows that the newest come first where nothing is asked for", () => {
  expect(ariaSort("", "started")).toBe("descending");
  expect([nextSort("", "started"), nextSort("started", "started")]).toEqual(["started", ""]);
});

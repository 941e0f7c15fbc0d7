import { expect, it } from "vitest";
import { windowOf } from "./rowWindow";

it("draws what is seen and a little beyond, however long the list", () => {
  expect(windowOf(1000, 50, 0, 600)).toEqual({ from: 0, to: 20 });
  expect(windowOf(1000, 50, -20_000, 600)).toEqual({ from: 392, to: 420 });
});

it("draws every row of a short list", () => {
  expect(windowOf(7, 50, 300, 600)).toEqual({ from: 0, to: 7 });
});

it("draws nothing past the end, nor of a list far below", () => {
  expect(windowOf(10, 50, -5_000, 600)).toEqual({ from: 10, to: 10 });
  expect(windowOf(1000, 50, 5_000, 600)).toEqual({ from: 0, to: 0 });
});

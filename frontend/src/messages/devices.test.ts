import { expect, it } from "vitest";
import german from "./de/devices";
import english from "./en/devices";

it("calls a browser that told nothing of itself so in the reader's language", () => {
  expect([english.list.called("a browser"), german.list.called("a browser")]).toEqual([
    "a browser",
    "ein Browser",
  ]);
  expect([english.list.called("Pixel 9"), german.list.called("Pixel 9")]).toEqual([
    "Pixel 9",
    "Pixel 9",
  ]);
});

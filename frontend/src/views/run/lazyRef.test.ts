import { expect, it } from "vitest";
import { LazyRef } from "./lazyRef.svelte";

it("asks a part that is here at once", () => {
  const part = new LazyRef<string[]>();
  const here: string[] = [];
  part.here = here;

  part.ask((list) => list.push("stand"));

  expect(here).toEqual(["stand"]);
});

it("does, once it comes, what was asked of it last", () => {
  const part = new LazyRef<string[]>();
  const here: string[] = [];
  part.ask((list) => list.push("begin"));
  part.ask((list) => list.push("stand"));

  part.here = here;
  part.here = undefined;
  part.here = here;

  expect(here).toEqual(["stand"]);
});

import { expect, it } from "vitest";
import { ProblemError, UnreachableError } from "../wire/api";
import { Attempt } from "./attempt.svelte";

const fails = (error: Error) => () => Promise.reject(error);

it("says why it was not taken, until the next is made", async () => {
  const attempt = new Attempt(() => "away");

  expect(await attempt.make(fails(new UnreachableError()))).toBe(false);
  expect(attempt.wrong).toBe("away");
  const next = attempt.make(() => Promise.resolve());

  expect([attempt.busy, attempt.wrong]).toEqual([true, ""]);
  expect(await next).toBe(true);
  expect([attempt.busy, attempt.wrong]).toEqual([false, ""]);
});

it("gives the form's own reason before the server's", async () => {
  const attempt = new Attempt(
    () => "away",
    (error) => (error instanceof ProblemError ? "too short" : ""),
  );

  await attempt.make(fails(new ProblemError(400, { detail: "Refused." })));
  expect(attempt.wrong).toBe("too short");

  await attempt.make(fails(new UnreachableError()));
  expect(attempt.wrong).toBe("away");
});

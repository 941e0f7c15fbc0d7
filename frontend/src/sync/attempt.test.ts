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

it("says what came of the one that was taken, and nothing of it once another fails", async () => {
  const attempt = new Attempt(() => "away");

  await attempt.make(() => Promise.resolve(), "Saved.");
  expect(attempt.notice).toBe("Saved.");

  await attempt.make(fails(new UnreachableError()), "Saved.");
  expect([attempt.notice, attempt.wrong]).toEqual(["", "away"]);
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

it("answers for each of two that are made at once, and is busy until both are over", async () => {
  const attempt = new Attempt(() => "away");
  let arrive: (() => void) | undefined;
  const slow = attempt.make(() => new Promise<void>((resolve) => (arrive = resolve)));
  const quick = attempt.make(fails(new UnreachableError()));

  expect(await quick).toBe(false);
  expect(attempt.busy).toBe(true);

  arrive?.();
  expect(await slow).toBe(true);
  expect([attempt.busy, attempt.wrong]).toEqual([false, "away"]);
});

it("is busy no more where its reason cannot be said", async () => {
  const attempt = new Attempt(
    () => "away",
    () => {
      throw new TypeError("no words");
    },
  );

  await expect(attempt.make(fails(new UnreachableError()))).rejects.toThrow("no words");
  expect(attempt.busy).toBe(false);
});

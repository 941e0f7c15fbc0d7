import { expect, it } from "vitest";
import { ProblemError, UnreachableError } from "../wire/api";
import { Mutation } from "./mutation.svelte";

const fails = (error: Error) => () => Promise.reject(error);

it("says why it was not taken, until the next is made", async () => {
  const mutation = new Mutation(() => "away");

  expect(await mutation.run(fails(new UnreachableError()))).toBe(false);
  expect(mutation.error).toBe("away");
  const next = mutation.run(() => Promise.resolve());

  expect([mutation.busy, mutation.error]).toEqual([true, ""]);
  expect(await next).toBe(true);
  expect([mutation.busy, mutation.error]).toEqual([false, ""]);
});

it("says what came of the one that was taken, and nothing of it once another fails", async () => {
  const mutation = new Mutation(() => "away");

  await mutation.run(() => Promise.resolve(), "Saved.");
  expect(mutation.notice).toBe("Saved.");

  await mutation.run(fails(new UnreachableError()), "Saved.");
  expect([mutation.notice, mutation.error]).toEqual(["", "away"]);
});

it("gives the form's own reason before the server's", async () => {
  const mutation = new Mutation(
    () => "away",
    (error) => (error instanceof ProblemError ? "too short" : ""),
  );

  await mutation.run(fails(new ProblemError(400, { detail: "Refused." })));
  expect(mutation.error).toBe("too short");

  await mutation.run(fails(new UnreachableError()));
  expect(mutation.error).toBe("away");
});

it("answers for each of two that are made at once, and is busy until both are over", async () => {
  const mutation = new Mutation(() => "away");
  let arrive: (() => void) | undefined;
  const slow = mutation.run(() => new Promise<void>((resolve) => (arrive = resolve)));
  const quick = mutation.run(fails(new UnreachableError()));

  expect(await quick).toBe(false);
  expect(mutation.busy).toBe(true);

  arrive?.();
  expect(await slow).toBe(true);
  expect([mutation.busy, mutation.error]).toEqual([false, "away"]);
});

it("is busy no more where its reason cannot be said", async () => {
  const mutation = new Mutation(
    () => "away",
    () => {
      throw new TypeError("no words");
    },
  );

  await expect(mutation.run(fails(new UnreachableError()))).rejects.toThrow("no words");
  expect(mutation.busy).toBe(false);
});

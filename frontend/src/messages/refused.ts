/** Why a write was not taken, in the language of the screen where we have the words. */
import { ProblemError } from "../wire/api";
import { speech } from "./speech.svelte";
import { refusals, shell } from "./texts";

export async function refused(error: unknown, unreachable: string): Promise<string> {
  // Our server gives its reasons a code: without, it is a proxy before it, while it is down or starts.
  if (!(error instanceof ProblemError) || (!error.code && error.status > 500)) return unreachable;
  if (error.waitS !== null) return shell.tooMany(error.waitS);
  // Seldom said: no screen waits for these words, and the server's own stand where they fail.
  return speech.have(["refusals"]).then(
    () => refusals.sentence(error),
    () => error.message,
  );
}

/** Return why a write was refused, in the screen's language if there is a text for it. */
import { ProblemError } from "../wire/api";
import { speech } from "./speech.svelte";
import { refusals, shell } from "./texts";

export async function refused(error: unknown, unreachable: string): Promise<string> {
  // Our server sends a code. An error without one is from a proxy, while the server is down.
  if (!(error instanceof ProblemError) || (!error.code && error.status > 500)) return unreachable;
  if (error.waitS !== null) return shell.tooMany(error.waitS);
  // Rarely needed, so loaded only here; if that fails, the server's own text is shown.
  return speech.have(["refusals"]).then(
    () => refusals.sentence(error),
    () => error.message,
  );
}

/** Why a write was not taken, in the language of the screen where we have the words. */
import { shell as t } from "../../messages/texts";
import { ProblemError } from "../../wire/api";

export function refused(error: unknown, unreachable: string): string {
  if (!(error instanceof ProblemError)) return unreachable;
  return error.waitS === null ? error.message : t.tooMany(error.waitS);
}

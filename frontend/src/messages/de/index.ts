/** What every screen says, in one chunk, and where the rest is. */
import type { Catalogue, Views } from "../speech.svelte";
import card from "./card";
import record from "./record";
import shell from "./shell";
import version from "./version";
import words from "./words";

export const catalogue: Catalogue = { card, record, shell, version, words };
export const views: Views = import.meta.glob<{ default: object }>([
  "./*.ts",
  "!./{index,card,record,shell,version,words}.ts",
]);

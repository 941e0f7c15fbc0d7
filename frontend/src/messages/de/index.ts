/**
 * What every screen says, in one chunk, and where the rest is. The guard's sentences are much in
 * German, so only the screens that say them wait for them.
 */
import type { Catalogue, Views } from "../speech.svelte";
import card from "./card";
import shell from "./shell";
import version from "./version";
import words from "./words";

export const catalogue: Catalogue = { card, shell, version, words };
export const views: Views = import.meta.glob<{ default: object }>([
  "./*.ts",
  "!./{index,card,shell,version,words}.ts",
]);

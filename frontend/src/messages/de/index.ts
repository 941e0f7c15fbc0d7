/** What every screen says, in one chunk. */
import type { Catalogue } from "../speech.svelte";
import card from "./card";
import record from "./record";
import shell from "./shell";
import version from "./version";
import words from "./words";

export const catalogue: Catalogue = { card, record, shell, version, words };

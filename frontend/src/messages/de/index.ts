/** The German of what the first screens say, in one chunk; `rest.ts` holds the others'. */
import type { Catalogue } from "../speech.svelte";
import card from "./card";
import decisions from "./decisions";
import now from "./now";
import record from "./record";
import shell from "./shell";
import version from "./version";
import words from "./words";

export const catalogue: Catalogue = { card, decisions, now, record, shell, version, words };

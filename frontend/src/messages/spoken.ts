/** Every test speaks English, and has all of it. */
import { speech } from "./speech.svelte";
import * as texts from "./texts";

await speech.have(Object.keys(texts));

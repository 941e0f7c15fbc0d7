/** Every test speaks English, and has all of it. */
import { speech } from "./speech.svelte";
import * as texts from "./texts";

// The screen's clock listens to its page from the start, whichever test is the first to need it.
if (!("document" in globalThis)) Reflect.set(globalThis, "document", new EventTarget());

await speech.have(Object.keys(texts));

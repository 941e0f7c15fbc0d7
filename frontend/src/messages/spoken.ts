/** Load all English texts for tests. */
import { speech } from "./speech.svelte";
import * as texts from "./texts";

// The clock listens to the document as soon as it is imported, by whichever test.
if (!("document" in globalThis)) Reflect.set(globalThis, "document", new EventTarget());

await speech.have(Object.keys(texts));

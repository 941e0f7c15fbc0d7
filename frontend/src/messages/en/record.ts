/** What the guard wrote down, in the words it wrote: its sentences and its own judge's reasons. */
import { source } from "../speech.svelte";

export default source("record", {
  sentence: (text: string) => text,
});

/** A project's own price of a model. */
import { counted } from "../plural";
import { source } from "../speech.svelte";

export default source("prices", {
  title: (model: string) => `The price of ${model}`,
  hint: "Dollars for a million tokens, as your contract or your provider says. It holds from now on in this project, before the public list; what an agent itself reports goes before both.",
  past: "Calls of this model that were counted without a price are counted with it now: today’s, and past ones. Reports of past days are corrected, and say so.",
  input: "Input",
  output: "Output",
  cacheRead: "Read from the cache",
  cacheReadHint: "Empty: as input",
  cacheWrite: "Written to the cache",
  cacheWriteHint: "Empty: as input",
  perMillion: "$ per million",
  project: "Project",
  save: "Set the price",
  saving: "Counting again…",
  cancel: "Cancel",
  done: (calls: number, usd: string) => `${counted(calls, { one: "call was", other: "calls were" })} counted again: ${usd}.`,
  close: "Close",
  owners: "Only an owner of the project sets prices.",
  failed: "The server could not be reached; nothing was changed.",
});

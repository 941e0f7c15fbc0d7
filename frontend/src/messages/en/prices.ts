/** A project's own price of a model. */
import { counted } from "../plural";

const texts = {
  title: (model: string) => `Price of ${model}`,
  hint: "Dollars per million tokens, from your contract or provider. It applies from now on in this project and overrides the public list; what an agent itself reports overrides both.",
  past: "Past calls of this model without a price are counted with it too. Reports of past days are corrected, and say so.",
  input: "Input",
  output: "Output",
  cacheRead: "Cache read",
  cacheReadHint: "Empty: same as input",
  cacheWrite: "Cache write",
  cacheWriteHint: "Empty: same as input",
  perMillion: "$ per million",
  project: "Project",
  save: "Set price",
  saving: "Recounting…",
  cancel: "Cancel",
  done: (calls: number, usd: string) =>
    `${counted(calls, { one: "call", other: "calls" })} recounted: ${usd}.`,
  close: "Close",
  owners: "Only owners of the project set prices.",
  failed: "The server could not be reached; nothing was changed.",
  asNumber: "A number, such as 5 or 5.50",
};
export default texts;

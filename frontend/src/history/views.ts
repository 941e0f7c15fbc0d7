/** The views that everybody has. A person's own come from the server. */
import t from "../messages/en/history";

export type Builtin = "all" | "byPerson" | "loops" | "dear" | "unpriced";

export const BUILTIN: readonly (readonly [name: Builtin, q: string])[] = [
  ["all", ""],
  ["byPerson", "status:terminated by:person"],
  ["loops", "is:flagged since:7d"],
  ["dear", "cost:>5"],
  ["unpriced", "is:unpriced"],
];

export function builtinWords(name: Builtin): string {
  return t.views[name];
}

/** The page with this line; the address is what a person shares. */
export function historyPath(q: string): string {
  return q === "" ? "/history" : `/history?${new URLSearchParams({ q }).toString()}`;
}

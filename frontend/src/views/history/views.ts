/** The built-in views. A person's own come from the server. */
import { history as t } from "../../messages/texts";

export type Builtin = "all" | "byPerson" | "loops" | "dear" | "unpriced" | "imported";

export const BUILTIN: readonly (readonly [name: Builtin, q: string])[] = [
  ["all", ""],
  ["byPerson", "status:terminated by:person"],
  ["loops", "is:flagged since:7d"],
  ["dear", "cost:>5"],
  ["unpriced", "is:unpriced"],
  ["imported", "is:imported"],
];

export function builtinWords(name: Builtin): string {
  return t.views[name];
}

/** Return the address of the page with this search and order. */
export function historyPath(q: string, sort = ""): string {
  const set = Object.entries({ q, sort }).filter(([, value]) => value !== "");
  return set.length === 0 ? "/history" : `/history?${new URLSearchParams(set).toString()}`;
}

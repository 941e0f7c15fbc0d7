/** The order of the list of runs, as in the address: `cost`, `-cost`. Pure. */
export const COLUMNS = [
  "status",
  "name",
  "agent",
  "score",
  "turns",
  "cost",
  "loops",
  "started",
] as const;
export type Column = (typeof COLUMNS)[number];

/** Columns of text; all others are sorted highest first. */
const TEXTS: ReadonlySet<Column> = new Set(["status", "name", "agent"]);

/** Return the order in an address; "": newest first. */
export function sortOf(search: URLSearchParams): string {
  const sort = search.get("sort") ?? "";
  return COLUMNS.some((column) => column === sort.replace(/^-/, "")) ? sort : "";
}

/** The order of the list by default. */
export const NEWEST = "-started";

/** Return the order after a tap on a column: its natural one, the reverse, then the default. */
export function nextSort(sort: string, column: Column): string {
  if (sort === "" && column === "started") return column;
  const [first, second] = TEXTS.has(column) ? [column, `-${column}`] : [`-${column}`, column];
  if (sort === first) return second;
  return sort === second ? "" : first;
}

export function ariaSort(asked: string, column: Column): "ascending" | "descending" | undefined {
  const sort = asked || NEWEST;
  if (sort === column) return "ascending";
  return sort === `-${column}` ? "descending" : undefined;
}

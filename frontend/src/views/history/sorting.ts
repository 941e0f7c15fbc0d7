/** The order of the list of runs, as the address names it: `cost`, `-cost`. Pure. */
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

/** Figures and times are asked for with the highest first. */
const TEXTS: ReadonlySet<Column> = new Set(["status", "name", "agent"]);

/** The order an address asks for; "": newest first. */
export function sortOf(search: URLSearchParams): string {
  const sort = search.get("sort") ?? "";
  return COLUMNS.some((column) => column === sort.replace(/^-/, "")) ? sort : "";
}

/** As the list comes when no order is asked for. */
export const NEWEST = "-started";

/** The order after a tap on a column: its natural one, the other way, then none. */
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

/** Addresses of the screens. Pure; `router.svelte.ts` moves between them. */

/** Screens with an address of one word. */
const FLAT = [
  "history",
  "compare",
  "costs",
  "policies",
  "allowlist",
  "autofixes",
  "audit",
] as const;
type Flat = (typeof FLAT)[number];

export type Route =
  | { name: "now" }
  | { name: "decisions"; id: string | null }
  | { name: "run"; id: string; turn: number | null }
  | { name: "settings"; page: string }
  | { name: "reports"; id: string | null }
  | { name: Flat }
  | { name: "lost"; path: string };

/** `/runs/ID/turns/SEQ` is a turn of a run, by its `seq`. */
const ONE_TURN = /^\/runs\/([^/]+)\/turns\/(\d{1,9})\/?$/;

export function routeOf(path: string): Route {
  const turn = ONE_TURN.exec(path);
  if (turn?.[1]) return { name: "run", id: decodeSafely(turn[1]), turn: Number(turn[2]) };
  const [first = "", second, ...more] = path.split("/").filter(Boolean).map(decodeSafely);
  if (more.length > 0) return { name: "lost", path };
  if (first === "decisions") return { name: "decisions", id: second ?? null };
  if (first === "settings") return { name: "settings", page: second ?? "" };
  if (first === "reports") return { name: "reports", id: second ?? null };
  if (first === "runs" && second) return { name: "run", id: second, turn: null };
  if (second !== undefined) return { name: "lost", path };
  if (first === "") return { name: "now" };
  const flat = FLAT.find((name) => name === first);
  return flat ? { name: flat } : { name: "lost", path };
}

export function runPath(id: string): string {
  return `/runs/${encodeURIComponent(id)}`;
}

export function reportPath(id: string): string {
  return `/reports/${encodeURIComponent(id)}`;
}

export function turnPath(id: string, seq: number): string {
  return `${runPath(id)}/turns/${String(seq)}`;
}

/** Return the path that compares two runs; without `b`, the screen asks for the other one. */
export function comparePath(a: string, b?: string): string {
  const other = b === undefined ? "" : `&b=${encodeURIComponent(b)}`;
  return `/compare?a=${encodeURIComponent(a)}${other}`;
}

export function decisionPath(id: string): string {
  return `/decisions/${encodeURIComponent(id)}`;
}

function decodeSafely(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}

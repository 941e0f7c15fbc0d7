/** Addresses of the screens. Pure; `router.svelte.ts` moves between them. */

/** Screens with an address of one word. */
const FLAT = ["history", "costs", "policies", "allowlist", "autofixes", "audit", "settings", "kit"] as const;
type Flat = (typeof FLAT)[number];

export type Route =
  | { name: "now" }
  | { name: "decisions"; id: string | null }
  | { name: "run"; id: string }
  | { name: Flat }
  | { name: "lost"; path: string };

export function routeOf(path: string): Route {
  const [first = "", second, ...more] = path.split("/").filter(Boolean).map(decodeSafely);
  if (more.length > 0) return { name: "lost", path };
  if (first === "decisions") return { name: "decisions", id: second ?? null };
  if (first === "runs" && second) return { name: "run", id: second };
  if (second !== undefined) return { name: "lost", path };
  if (first === "") return { name: "now" };
  const flat = FLAT.find((name) => name === first);
  return flat ? { name: flat } : { name: "lost", path };
}

export function runPath(id: string): string {
  return `/runs/${encodeURIComponent(id)}`;
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

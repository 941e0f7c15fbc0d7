/** Which requests the worker answers itself, from the files this build precached. Pure. */

export interface PageRequest {
  method: string;
  mode: string;
  url: URL;
}

/** Addresses that Django renders itself, or that are no pages. */
const SERVERS_OWN = /^\/(api|ws|v1|login|logout|pair|join|healthz|readyz|metrics)(\/|$)/;

/** Return the precached address that answers a request; null: the network does. */
export function answerTo(
  { method, mode, url }: PageRequest,
  home: string,
  shell: ReadonlySet<string>,
): string | null {
  if (method !== "GET" || url.origin !== home || SERVERS_OWN.test(url.pathname)) return null;
  if (shell.has(url.pathname)) return url.pathname;
  return mode === "navigate" ? "/" : null;
}

/** Return our caches that older builds left. */
export function outdated(names: readonly string[], current: string): string[] {
  return names.filter((name) => name.startsWith(PREFIX) && name !== current);
}

export const PREFIX = "shell-";

/** Requests to our server, with the session cookie, JSON, and one hierarchy of errors. */

/** The server could not be reached, so it is unknown whether it did anything. */
export class UnreachableError extends Error {}

/** The server refused, with an RFC 9457 problem. */
export class ProblemError extends Error {
  readonly status: number;
  readonly code: string;
  readonly body: Record<string, unknown>;

  constructor(status: number, body: Record<string, unknown>) {
    super(textOf(body.detail) ?? textOf(body.title) ?? `the server answered ${String(status)}`);
    this.status = status;
    this.code = textOf(body.code) ?? "";
    this.body = body;
  }

  /** In how many seconds the request may be repeated; null: the server did not say. */
  get waitS(): number | null {
    return typeof this.body.wait_s === "number" ? this.body.wait_s : null;
  }
}

export interface WriteOptions {
  /** Whether it outlives the page, for taps sent while the page is hidden. */
  keepalive?: boolean;
}

const ROOT = "/api/v1/";
const READS: RequestInit = { headers: { Accept: "application/json" } };

export function read<T>(path: string): Promise<T> {
  return call<T>(path, READS);
}

/** Answers to early requests are dropped this long after the page began. */
const PREFETCH_MS = 30_000;
const prefetched = new Map<string, Promise<Answer>>();

/**
 * Request early, as the page begins, what will be read first; each answer is for its first reader.
 *
 * Responses that the page preloaded are always taken over, even unneeded ones: otherwise the
 * browser would keep them with the page, for the next person who signs in there.
 */
export function prefetch(paths: readonly string[]): void {
  const linked = [...document.querySelectorAll('link[as="fetch"]')].map(
    (link) => link.getAttribute("href")?.slice(ROOT.length) ?? "",
  );
  for (const path of [...linked, ...paths]) {
    if (prefetched.has(path)) continue;
    const answer = reach(ROOT + path, READS);
    answer.catch(() => undefined); // its reader gets the error
    prefetched.set(path, answer);
  }
  setTimeout(clearPrefetched, PREFETCH_MS);
  // A browser may cache the page as it is, and show it again to the next person signed in.
  addEventListener("pagehide", clearPrefetched);
}

/** Drop early answers: another person may be signed in, or the data may have changed. */
export function clearPrefetched(): void {
  prefetched.clear();
}

/** Return the answer to an early request; null: there was none, or it was read before. */
export function readPrefetched<T>(path: string): Promise<T> | null {
  return prefetched.has(path) ? read<T>(path) : null;
}

export function write<T>(
  method: "POST" | "PATCH" | "DELETE",
  path: string,
  body: unknown,
  options: WriteOptions = {},
): Promise<T> {
  return call<T>(path, {
    method,
    headers: {
      Accept: "application/json",
      "Content-Type": "application/json",
      "X-CSRFToken": csrfToken(),
    },
    body: JSON.stringify(body),
    keepalive: options.keepalive ?? false,
  });
}

/** Send a file unchanged. */
export function upload<T>(path: string, file: Blob): Promise<T> {
  return call<T>(path, {
    method: "POST",
    headers: {
      Accept: "application/json",
      "Content-Type": "application/octet-stream",
      "X-CSRFToken": csrfToken(),
    },
    body: file,
  });
}

/** Return the token that proves a write to be ours, because other sites cannot read it. */
export function csrfToken(): string {
  return cookie(location.protocol === "https:" ? "__Host-mc_csrf" : "mc_csrf");
}

/** End this browser's session; the response is a page for people without one. */
export async function signOut(): Promise<void> {
  clearPrefetched();
  const headers = { "X-CSRFToken": csrfToken() };
  await reach("/logout/", { method: "POST", headers, redirect: "manual" });
}

export function query(values: Record<string, string | null | undefined>): string {
  const search = new URLSearchParams();
  for (const [name, value] of Object.entries(values)) if (value) search.set(name, value);
  const text = search.toString();
  return text ? `?${text}` : "";
}

/** Return the path of an absolute `next` link, so that requests stay on our own origin. */
export function pathOf(next: string): string {
  const url = new URL(next, location.origin);
  return url.pathname.slice(ROOT.length) + url.search;
}

/** The language selected on this device, for the server's texts. */
let reader = "";
export function setLanguageHeader(language: string): void {
  reader = language;
}

/** Asks a person to confirm their identity by one of these methods; returns whether they did. */
export type Reauthenticate = (methods: readonly string[]) => Promise<boolean>;
let reauthenticate: Reauthenticate | null = null;

/** Set the function that is called when the server requires an identity confirmation. */
export function onReauthenticate(asks: Reauthenticate): void {
  reauthenticate = asks;
}

/** Send a request; if it needs an identity confirmation, send it again after that. */
async function call<T>(path: string, init: RequestInit): Promise<T> {
  try {
    return await send<T>(path, init);
  } catch (error) {
    const isStale = error instanceof ProblemError && error.code === "sign_in_again";
    if (!isStale || !(await reauthenticate?.(listOf(error.body.ways)))) throw error;
    return send<T>(path, init);
  }
}

const underWay = new Set<Promise<Answer>>();

/** Wait for pending writes: their responses may change the session key. */
export async function settled(): Promise<void> {
  await Promise.allSettled(underWay);
}

async function send<T>(path: string, init: RequestInit): Promise<T> {
  const answer = (init === READS && prefetched.get(path)) || reach(ROOT + path, init);
  prefetched.delete(path);
  if (init.method !== undefined) {
    clearPrefetched();
    underWay.add(answer);
  }
  const { ok, status, text } = await answer.finally(() => underWay.delete(answer));
  const body: T = bodyOf(text);
  if (ok) return body;
  throw new ProblemError(status, recordOf(body));
}

function listOf(value: unknown): readonly string[] {
  return Array.isArray(value) ? value.map(String) : [];
}

interface Answer {
  ok: boolean;
  status: number;
  text: string;
}

async function reach(url: string, init: RequestInit): Promise<Answer> {
  try {
    const headers = new Headers(init.headers);
    // Only once it is known: early requests must have the same headers as the preload links.
    if (reader) headers.set("Accept-Language", reader);
    const response = await fetch(url, { credentials: "same-origin", ...init, headers });
    return { ok: response.ok, status: response.status, text: await response.text() };
  } catch (error) {
    throw new UnreachableError("the server cannot be reached", { cause: error });
  }
}

function bodyOf<T>(text: string): T {
  try {
    return JSON.parse(text || "{}");
  } catch {
    return JSON.parse("{}");
  }
}

function recordOf(value: unknown): Record<string, unknown> {
  return typeof value === "object" && value !== null ? { ...value } : {};
}

function textOf(value: unknown): string | null {
  return typeof value === "string" && value !== "" ? value : null;
}

function cookie(name: string): string {
  const found = document.cookie.split("; ").find((pair) => pair.startsWith(`${name}=`));
  return found ? decodeURIComponent(found.slice(name.length + 1)) : "";
}

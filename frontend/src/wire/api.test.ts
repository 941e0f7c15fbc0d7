/** What is asked for ahead is asked once, for the first who reads it, and for nobody after them. */
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import {
  prefetch,
  clearPrefetched,
  ProblemError,
  read,
  readPrefetched,
  setLanguageHeader,
  signOut,
  write,
} from "./api";

let asked: string[] = [];
let leave: () => void;

function page(...linked: string[]) {
  const links = linked.map((path) => ({ getAttribute: () => `/api/v1/${path}` }));
  vi.stubGlobal("document", { querySelectorAll: () => links, cookie: "" });
}

beforeEach(() => {
  vi.useFakeTimers();
  asked = [];
  vi.stubGlobal("location", { protocol: "https:" });
  vi.stubGlobal("fetch", (url: string) => {
    asked.push(url);
    return Promise.resolve(Response.json({ nth: asked.length }));
  });
  vi.stubGlobal("addEventListener", (event: string, heard: () => void) => {
    if (event === "pagehide") leave = heard;
  });
  page();
});

afterEach(() => {
  clearPrefetched();
  vi.useRealTimers();
  vi.unstubAllGlobals();
});

test("what is asked for ahead is asked once and read once", async () => {
  prefetch(["boards/"]);

  expect(await readPrefetched("boards/")).toEqual({ nth: 1 });
  expect(readPrefetched("boards/")).toBeNull();
  expect(asked).toEqual(["/api/v1/boards/"]);
});

test("whoever reads by the same address takes it, the next one asks anew", async () => {
  prefetch(["costs/account/?range=day"]);

  expect(await read("costs/account/?range=day")).toEqual({ nth: 1 });
  expect(await read("costs/account/?range=day")).toEqual({ nth: 2 });
});

test("what the page itself asked for is taken over, wanted or not", () => {
  page("me/", "costs/account/?range=day");

  prefetch(["me/", "costs/account/?range=day&project=1"]);

  expect(asked.map((url) => url.slice("/api/v1/".length))).toEqual([
    "me/",
    "costs/account/?range=day",
    "costs/account/?range=day&project=1",
  ]);
});

test.each([
  ["a write", () => write("POST", "runs/1/", {})],
  ["the end of the session", () => signOut()],
  ["leaving the page", () => leave()],
  ["half a minute", () => vi.advanceTimersByTime(30_000)],
])("%s makes it void", async (_, happen) => {
  prefetch(["boards/"]);

  await happen();

  expect(readPrefetched("boards/")).toBeNull();
});

test("a refusal is told to whoever reads it", async () => {
  vi.stubGlobal("fetch", () => Promise.resolve(Response.json({ code: "no" }, { status: 401 })));
  prefetch(["boards/"]);

  await expect(readPrefetched("boards/")).rejects.toBeInstanceOf(ProblemError);
});

test("what could not be fetched troubles nobody who does not read it", async () => {
  vi.stubGlobal("fetch", () => Promise.reject(new TypeError("offline")));
  prefetch(["boards/"]);

  await vi.advanceTimersByTimeAsync(1);
});

test("asks in the language of this device once that is known", async () => {
  const languages: (string | null)[] = [];
  vi.stubGlobal("fetch", (_: string, { headers }: { headers: Headers }) => {
    languages.push(headers.get("Accept-Language"));
    return Promise.resolve(Response.json({}));
  });

  await read("deliveries/");
  setLanguageHeader("de");
  await read("deliveries/");
  setLanguageHeader("");

  expect(languages).toEqual([null, "de"]);
});

/** What is asked for ahead is asked once, for the first who reads it, and for nobody after them. */
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import {
  askAhead,
  forgetAhead,
  ProblemError,
  read,
  readAhead,
  readsIn,
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
  forgetAhead();
  vi.useRealTimers();
  vi.unstubAllGlobals();
});

test("what is asked for ahead is asked once and read once", async () => {
  askAhead(["boards/"]);

  expect(await readAhead("boards/")).toEqual({ nth: 1 });
  expect(readAhead("boards/")).toBeNull();
  expect(asked).toEqual(["/api/v1/boards/"]);
});

test("whoever reads by the same address takes it, the next one asks anew", async () => {
  askAhead(["costs/account/?range=day"]);

  expect(await read("costs/account/?range=day")).toEqual({ nth: 1 });
  expect(await read("costs/account/?range=day")).toEqual({ nth: 2 });
});

test("what the page itself asked for is taken over, wanted or not", () => {
  page("me/", "costs/account/?range=day");

  askAhead(["me/", "costs/account/?range=day&project=1"]);

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
  askAhead(["boards/"]);

  await happen();

  expect(readAhead("boards/")).toBeNull();
});

test("a refusal is told to whoever reads it", async () => {
  vi.stubGlobal("fetch", () => Promise.resolve(Response.json({ code: "no" }, { status: 401 })));
  askAhead(["boards/"]);

  await expect(readAhead("boards/")).rejects.toBeInstanceOf(ProblemError);
});

test("what could not be fetched troubles nobody who does not read it", async () => {
  vi.stubGlobal("fetch", () => Promise.reject(new TypeError("offline")));
  askAhead(["boards/"]);

  await vi.advanceTimersByTimeAsync(1);
});

test("asks in the language of this device once that is known", async () => {
  const languages: (string | null)[] = [];
  vi.stubGlobal("fetch", (_: string, { headers }: { headers: Headers }) => {
    languages.push(headers.get("Accept-Language"));
    return Promise.resolve(Response.json({}));
  });

  await read("deliveries/");
  readsIn("de");
  await read("deliveries/");
  readsIn("");

  expect(languages).toEqual([null, "de"]);
});

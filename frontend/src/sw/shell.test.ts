import { describe, expect, it } from "vitest";
import { answerTo, outdated } from "./shell";

const HOME = "https://mc.test";
const SHELL = new Set(["/", "/assets/app-1.js", "/manifest.webmanifest"]);
const ask = (path: string, change: { method?: string; mode?: string } = {}) =>
  answerTo({ method: "GET", mode: "navigate", url: new URL(path, HOME), ...change }, HOME, SHELL);

describe("the worker answers", () => {
  it("every screen of the app with the one page", () => {
    expect([ask("/"), ask("/decisions/42"), ask("/history?q=x"), ask("/loginsomething")]).toEqual([
      "/",
      "/",
      "/",
      "/",
    ]);
  });

  it("what the build made from the cache", () => {
    expect(ask("/assets/app-1.js", { mode: "no-cors" })).toBe("/assets/app-1.js");
  });

  it.each([
    "/api/v1/me/",
    "/login/secret/",
    "/logout/",
    "/ws/projects/1/",
    "/v1/traces",
    "/pair",
    "/pair/",
    "/join",
    "/healthz",
  ])("nothing for %s, which is the server's", (path) => expect(ask(path)).toBeNull());

  it("no write, no other origin, no file it does not know", () => {
    expect(ask("/", { method: "POST" })).toBeNull();
    expect(ask("https://elsewhere.test/")).toBeNull();
    expect(ask("/assets/app-0.js", { mode: "no-cors" })).toBeNull();
  });
});

it("what older builds left is ours alone and not today's", () => {
  expect(outdated(["shell-1", "shell-2", "fonts"], "shell-2")).toEqual(["shell-1"]);
});

/** What the page asked for ahead is read once, early, and by exactly its address. */
import { afterEach, expect, test, vi } from "vitest";
import { readAhead } from "./api";

function linked(...paths: string[]) {
  const links = paths.map((path) => ({
    getAttribute: () => `/api/v1/${path}`,
    remove: vi.fn(),
  }));
  vi.stubGlobal("document", { querySelectorAll: () => links, cookie: "" });
  vi.stubGlobal("fetch", () => Promise.resolve(Response.json({ ok: true })));
  return links;
}

afterEach(() => {
  vi.restoreAllMocks();
  vi.unstubAllGlobals();
});

test("what was asked for is read, and its link is gone", async () => {
  const [link] = linked("boards/");
  expect(await readAhead("boards/")).toEqual({ ok: true });
  expect(link?.remove).toHaveBeenCalled();
});

test("an address that holds quotes is no selector", () => {
  linked("boards/");
  expect(readAhead('runs/x"y\\/snapshot/')).toBeNull();
});

test("what was asked for long ago is left alone", () => {
  linked("boards/");
  vi.spyOn(performance, "now").mockReturnValue(60_000);
  expect(readAhead("boards/")).toBeNull();
});

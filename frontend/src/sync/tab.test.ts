import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { emptyTab, keepInTab, keptInTab } from "./tab";

const MINE = "ana p";

/** As a browser's: what it keeps are its own names. */
class Tab {
  [name: string]: unknown;
  getItem(name: string): unknown {
    return Object.hasOwn(this, name) ? this[name] : null;
  }
  setItem(name: string, value: string): void {
    this[name] = value;
  }
  removeItem(name: string): void {
    Reflect.deleteProperty(this, name);
  }
}

beforeEach(() => vi.stubGlobal("sessionStorage", new Tab()));
afterEach(() => vi.unstubAllGlobals());

it("keeps what is not finished until it is taken away", () => {
  keepInTab(MINE, { note: "slow suite" });
  expect(keptInTab(MINE)).toEqual({ note: "slow suite" });

  keepInTab(MINE, null);
  expect(keptInTab(MINE)).toBeNull();
});

it("is emptied of what was not finished, and of nothing else", () => {
  keepInTab(MINE, { note: "slow suite" });
  sessionStorage.setItem("person", "ana");

  emptyTab();

  expect(keptInTab(MINE)).toBeNull();
  expect(sessionStorage.getItem("person")).toBe("ana");
});

it("keeps nothing where storage is off, and breaks nothing", () => {
  vi.stubGlobal("sessionStorage", undefined);

  keepInTab(MINE, { note: "slow suite" });
  emptyTab();

  expect(keptInTab(MINE)).toBeNull();
});

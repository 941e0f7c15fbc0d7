import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { clearTab, saveInTab, readFromTab } from "./tabStorage";

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
  saveInTab(MINE, { note: "slow suite" });
  expect(readFromTab(MINE)).toEqual({ note: "slow suite" });

  saveInTab(MINE, null);
  expect(readFromTab(MINE)).toBeNull();
});

it("is emptied of what was not finished, and of nothing else", () => {
  saveInTab(MINE, { note: "slow suite" });
  sessionStorage.setItem("person", "ana");

  clearTab();

  expect(readFromTab(MINE)).toBeNull();
  expect(sessionStorage.getItem("person")).toBe("ana");
});

it("keeps nothing where storage is off, and breaks nothing", () => {
  vi.stubGlobal("sessionStorage", undefined);

  saveInTab(MINE, { note: "slow suite" });
  clearTab();

  expect(readFromTab(MINE)).toBeNull();
});

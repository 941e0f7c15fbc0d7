import { describe, expect, it } from "vitest";
import { COMMANDS } from "../card/answers";
import {
  BINDINGS,
  commandOf,
  keyOf,
  sheet,
  shortcutOf,
  startsGoTo,
  type KeyPress,
  type KeyContext,
} from "./keymap";

const press = (key: string, rest: Partial<KeyPress> = {}): KeyPress => ({
  key,
  ctrlKey: false,
  metaKey: false,
  altKey: false,
  repeat: false,
  ...rest,
});
const HERE: KeyContext = { typing: false, onControl: false, afterG: false, inRun: false };

describe("commandOf", () => {
  it.each([
    ["t", "terminate"],
    ["c", "continue"],
    ["a", "allowlist"],
    ["i", "inject"],
    ["$", "allow budget"],
    ["I", "inject"],
    ["e", "edit"],
    ["h", "hold"],
    ["j", "next"],
    ["k", "previous"],
    ["x", "select"],
    ["Enter", "open"],
    ["y", "allow once"],
    ["d", "deny"],
    ["?", "keys"],
  ])("reads %s as %s", (key, command) => {
    expect(commandOf(press(key), HERE)).toBe(command);
  });

  it.each([
    ["]", "turn after"],
    ["[", "turn before"],
    ["Home", "first"],
    ["End", "last"],
    ["PageDown", "page on"],
    ["PageUp", "page back"],
    ["n", "next match"],
    ["N", "previous match"],
  ])("reads %s on a run's page as %s", (key, command) => {
    expect(commandOf(press(key), { ...HERE, inRun: true })).toBe(command);
    expect(commandOf(press(key), HERE)).toBeNull();
    expect(commandOf(press(key), { ...HERE, inRun: true, typing: true })).toBeNull();
  });

  it("leaves every letter to the text while typing", () => {
    const typing = { ...HERE, typing: true };

    expect(commandOf(press("t"), typing)).toBeNull();
    expect(commandOf(press("Escape"), typing)).toBe("leave");
  });

  it("leaves the browser's own shortcuts alone", () => {
    expect(commandOf(press("c", { ctrlKey: true }), HERE)).toBeNull();
    expect(commandOf(press("c", { metaKey: true }), HERE)).toBeNull();
    expect(commandOf(press("c", { altKey: true }), HERE)).toBeNull();
  });

  it("leaves Enter to the focused control", () => {
    expect(commandOf(press("Enter"), { ...HERE, onControl: true })).toBeNull();
  });

  it("does not answer the next card when a key is held down", () => {
    expect(commandOf(press("c", { repeat: true }), HERE)).toBeNull();
    expect(commandOf(press("j", { repeat: true }), HERE)).toBe("next");
  });

  it("goes to a screen after g", () => {
    const afterG = { ...HERE, afterG: true };

    expect(commandOf(press("d"), afterG)).toBe("go decisions");
    expect(commandOf(press("q"), afterG)).toBeNull();
  });
});

it("starts a walk with g, but not inside a field", () => {
  expect(startsGoTo(press("g"), HERE)).toBe(true);
  expect(startsGoTo(press("g"), { ...HERE, typing: true })).toBe(false);
});

describe("the one list", () => {
  it.each(
    BINDINGS.map(
      (one) => [one.key, one.command, "place" in one ? one.place : "everywhere"] as const,
    ),
  )("has %s do %s where it says so", (key, command, place) => {
    expect(
      commandOf(press(key), { ...HERE, inRun: place === "run", afterG: place === "after g" }),
    ).toBe(command);
  });

  it("gives a key one meaning in one place", () => {
    const places = BINDINGS.map((one) => `${"place" in one ? one.place : "everywhere"} ${one.key}`);

    expect(new Set(places).size).toBe(places.length);
  });

  it("is told on the sheet, each key once in its line", () => {
    expect(sheet().flatMap(({ keys }) => keys)).toHaveLength(BINDINGS.length);
    expect(sheet().find(({ line }) => line === "go")).toEqual({
      line: "go",
      afterG: true,
      keys: ["N", "D", "H", "C", "P", "A"],
    });
  });

  it("draws on a card's answers the key that gives them", () => {
    for (const command of Object.values(COMMANDS)) {
      if (command !== null) expect(commandOf(press(keyOf(command)), HERE)).toBe(command);
    }
  });

  it("names keys as screen readers know them", () => {
    expect([
      shortcutOf("terminate"),
      shortcutOf("page on"),
      shortcutOf("search"),
      shortcutOf("previous match"),
    ]).toEqual(["T", "PageDown", "/", "Shift+N"]);
    expect([keyOf("open"), keyOf("leave")]).toEqual(["↵", "Esc"]);
  });
});

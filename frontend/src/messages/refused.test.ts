import { expect, it } from "vitest";
import { ProblemError, UnreachableError } from "../wire/api";
import german from "./de/refusals";
import { refused } from "./refused";

it("says how long to wait where the server does", async () => {
  const busy = new ProblemError(429, { detail: "Too many tries. Wait 41 s.", wait_s: 41 });

  expect(await refused(busy, "away")).toBe("Too many tries in one minute. Try again in 41 s.");
});

it("says what the server said of anything else", async () => {
  const sent = new ProblemError(409, { detail: "It is sent." });
  const slow = new ProblemError(429, { detail: "Slow down.", wait_s: "soon" });

  expect(await refused(sent, "away")).toBe("It is sent.");
  expect(await refused(slow, "away")).toBe("Slow down.");
  expect(await refused(new UnreachableError(), "away")).toBe("away");
});

it.each([
  ["missing", "name: Das Feld fehlt."],
  ["string_type", "name: Erwartet wird Text."],
  ["int_parsing", "name: Erwartet wird eine ganze Zahl."],
  ["decimal_max_places", "name: Erwartet wird eine Zahl."],
  ["greater_than_equal", "name: Die Zahl liegt außerhalb des Erlaubten."],
  ["of_tomorrow", "Nicht angenommen: name: Input should be something else"],
])("names the field in German for a fault of the type %s", (fault, said) => {
  const message = "name: Input should be something else";

  const refusal = { code: "invalid_request", message, body: { field: "name", fault } };

  expect(german.sentence(refusal)).toBe(said);
});

it.each([
  ["not_found", "The channel does not exist here.", "Das gibt es hier nicht mehr."],
  [
    "invalid_request",
    "At most 20 live keys; revoke one first.",
    "Höchstens 20 gültige Schlüssel. Erst etwas davon entfernen.",
  ],
  ["invalid_request", "name: expected 1 to 80 signs.", "Erwartet werden 1 bis 80 Zeichen."],
  [
    "invalid_request",
    "status: expected running held, got 'gone'.",
    "status: Erwartet wird running held, nicht „gone“.",
  ],
  ["forbidden", "Only an owner invites.", "Das dürfen nur Eigentümer eines Projekts."],
  ["forbidden", "Not on a Sunday.", "Nicht erlaubt: Not on a Sunday."],
  [
    "last_owner",
    "Nobody else owns this project. Make somebody an owner first.",
    "Das Projekt hat sonst keinen Eigentümer. Erst jemand anderen dazu machen.",
  ],
  ["of_tomorrow", "Something new.", "Something new."],
])("is said in German: %s, %s", (code, message, said) => {
  expect(german.sentence({ code, message })).toBe(said);
});

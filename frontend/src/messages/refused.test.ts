import { expect, it } from "vitest";
import { ProblemError, UnreachableError } from "../wire/api";
import german from "./de/refusals";
import germanAccess from "./de/access";
import germanAccount from "./de/account";
import germanAllowlist from "./de/allowlist";
import germanChannels from "./de/channels";
import germanMembers from "./de/members";
import germanPrices from "./de/prices";
import germanSettings from "./de/settings";
import english from "./en/refusals";
import { refused } from "./refused";
import * as texts from "./texts";

it("says how long to wait where the server does", async () => {
  const busy = new ProblemError(429, { detail: "Too many attempts. Wait 41 s.", wait_s: 41 });

  expect(await refused(busy, "away")).toBe("Too many tries in one minute. Try again in 41 s.");
});

it("says that the server is not reached where a proxy answers in its place", async () => {
  expect(await refused(new ProblemError(502, {}), "away")).toBe("away");
});

it("says what the server said of anything else", async () => {
  const sent = new ProblemError(409, { detail: "It is sent." });
  const slow = new ProblemError(429, { detail: "Slow down.", wait_s: "soon" });

  expect(await refused(sent, "away")).toBe("It is sent.");
  expect(await refused(slow, "away")).toBe("Slow down.");
  expect(await refused(new UnreachableError(), "away")).toBe("away");
});

it.each([
  ["missing", "Name: Das Feld fehlt."],
  ["string_type", "Name: Erwartet wird Text."],
  ["int_parsing", "Name: Erwartet wird eine ganze Zahl."],
  ["decimal_max_places", "Name: Erwartet wird eine Zahl."],
  ["greater_than_equal", "Name: Die Zahl liegt außerhalb des Erlaubten."],
  ["of_tomorrow", "Nicht angenommen: Name: Input should be something else"],
])("names the field in German for a fault of the type %s", (fault, said) => {
  const message = "name: Input should be something else";

  const refusal = { code: "invalid_request", message, body: { field: "name", fault } };

  expect(german.sentence(refusal)).toBe(said);
});

it.each([
  ["model", "Modell: Erwartet wird Text."],
  ["nature", "Feld „nature“: Erwartet wird Text."],
])("says in German which field it is that no form labels: %s", (field, said) => {
  const message = `${field}: Input should be something else`;

  const refusal = { code: "invalid_request", message, body: { field, fault: "string_type" } };

  expect(german.sentence(refusal)).toBe(said);
});

it.each([
  ["not_found", "The channel does not exist here.", "Das gibt es hier nicht mehr."],
  [
    "invalid_request",
    "At most 20 active keys; revoke one first.",
    "Höchstens 20 gültige Schlüssel. Erst etwas davon entfernen.",
  ],
  ["invalid_request", "At most 500 projects per person.", "Höchstens 500 Projekte je Person."],
  [
    "invalid_request",
    "At most 10000 turns a recording; this one has 10005.",
    "Höchstens 10000 Schritte je Aufzeichnung; diese hat 10005.",
  ],
  [
    "body_too_large",
    "At most 512 bytes per request; send fewer turns at once.",
    "Zu groß: At most 512 bytes per request; send fewer turns at once.",
  ],
  [
    "invalid_request",
    "model: expected 1 to 80 signs.",
    "Modell: Erwartet werden 1 bis 80 Zeichen.",
  ],
  [
    "invalid_request",
    "name: expected 1 to 80 visible characters.",
    "Name: Erwartet werden 1 bis 80 Zeichen.",
  ],
  [
    "invalid_request",
    "status: expected running held, got 'gone'.",
    "Status: Erwartet wird running held, nicht „gone“.",
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

it.each([
  ["hold_limit: expected 1 to 86400 seconds.", "Longest pause: expected 1 s to 1 d."],
  [
    "budgets.day.usd: expected dollars, got x",
    "Per day, all runs, dollars: expected dollars, got x",
  ],
  ["budgets.agents.coder.usd: expected dollars", "Budgets: expected dollars"],
  ["quiet_from, quiet_to: give both, or neither.", "Quiet hours: give both, or neither."],
  ["vapid_key: it is not ours.", "Vapid key: it is not ours."],
  ["At most 20 rules: remove one first.", "At most 20 rules: remove one first."],
])("calls a field what its form calls it: %s", (message, said) => {
  expect(english.sentence({ code: "invalid_request", message })).toBe(said);
});

it.each([
  ["hold_limit: expected 1 to 86400 seconds.", "Längste Pause: Erwartet werden 1 s bis 1 d."],
  ["time_zone: it is odd.", "Nicht angenommen: Zeitzone: it is odd."],
  [
    "value: there is a rule for this already.",
    "Domain oder Gruppe: Dafür gibt es schon eine Regel.",
  ],
])("calls it so in German: %s", (message, said) => {
  expect(german.sentence({ code: "invalid_request", message })).toBe(said);
});

it("leaves the word of a search as it was typed", () => {
  const message = "is: expected one of held, live, got 'odd'.";
  const refusal = { code: "invalid_request", message, body: { field: "q" } };

  expect(english.sentence(refusal)).toBe(message);
  expect(german.sentence(refusal)).toBe("is: Erwartet wird one of held, live, nicht „odd“.");
});

it("leaves a file's name as it is", () => {
  const message = "notes.txt: expected a transcript of an agent.";
  const refusal = { code: "invalid_request", message, body: { field: "file" } };

  expect(english.sentence(refusal)).toBe(message);
  expect(german.sentence(refusal)).toContain("notes.txt: expected");
});

it("calls each field what the form itself does, in both languages", () => {
  const forms = ({
    access,
    account,
    allowlist,
    channels,
    members,
    prices,
    settings,
  }: Pick<
    typeof texts,
    "access" | "account" | "allowlist" | "channels" | "members" | "prices" | "settings"
  >): Record<string, string> => ({
    address: channels.address,
    budgets_day_usd: settings.ceilings.dayDollars,
    budgets_project_usd: settings.ceilings.projectDollars,
    budgets_run_turns: settings.ceilings.runTurns,
    budgets_run_usd: settings.ceilings.runDollars,
    budgets: settings.ceilingsTitle,
    cache_read: prices.cacheRead,
    cache_write: prices.cacheWrite,
    code: account.appCode,
    expires_at: members.life,
    hears: channels.hears,
    hold_limit: settings.holdWaits,
    input: prices.input,
    keep_words_days: settings.keepWords,
    kind: channels.kind,
    language: channels.language,
    name: channels.name,
    note: members.note,
    output: prices.output,
    overlap_hours: access.overlap,
    password: account.password,
    pattern: allowlist.add.call,
    quiet_from: channels.quietTitle,
    quiet_to: channels.quietTitle,
    redact_rules: settings.redact.label,
    role: members.role,
    step_minutes: channels.step,
    time_zone: settings.zone,
    value: account.value,
  });

  expect(english.fields).toEqual(forms(texts));
  expect(german.fields).toEqual(
    forms({
      access: germanAccess,
      account: germanAccount,
      allowlist: germanAllowlist,
      channels: germanChannels,
      members: germanMembers,
      prices: germanPrices,
      settings: germanSettings,
    }),
  );
});

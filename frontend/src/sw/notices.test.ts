import { describe, expect, it } from "vitest";
import { keeping, question, readPush, refusal, tapOf } from "./notices";

const CARD = {
  type: "card",
  tag: "d1",
  title: "fix-auth-tests is held",
  body: "Same test 4 times.",
  path: "/decisions/d1",
  run: "r1",
  run_name: "fix-auth-tests",
  decision: "d1",
  version: 3,
  open: 2,
  at: "2026-11-21T14:39:00Z",
  actions: [
    { action: "inject", title: "Inject fix", message: "Use token.py." },
    { action: "open", title: "Terminate…" },
  ],
};

describe("a card that is pushed", () => {
  it("is one notification of its decision, which asks until it is answered", () => {
    const { title, options, open } = readPush(CARD);

    expect([title, options.tag, options.requireInteraction, options.silent, open]).toEqual([
      "fix-auth-tests is held",
      "d1",
      true,
      false,
      2,
    ]);
    expect(options.actions.map(({ title: words }) => words)).toEqual(["Inject fix", "Terminate…"]);
    expect(options.timestamp).toBe(Date.parse("2026-11-21T14:39:00Z"));
  });

  it("sends what its button says, with the card's version", () => {
    const { about } = readPush(CARD);

    expect(tapOf(about, "0", "k")).toEqual({
      key: "k",
      run: "r1",
      action: "inject",
      decision: "d1",
      version: 3,
      message: "Use token.py.",
    });
  });

  it("sends nothing by a click on itself, nor by a button that opens it", () => {
    const { about } = readPush(CARD);

    expect([tapOf(about, "", "k"), tapOf(about, "1", "k"), tapOf(about, "7", "k")]).toEqual([
      null,
      null,
      null,
    ]);
  });

  it("survives the copy that a notification keeps", () => {
    const { about, options } = readPush(CARD);

    expect(JSON.parse(JSON.stringify(options.data))).toEqual(JSON.parse(JSON.stringify(about)));
  });
});

describe("a budget's card", () => {
  const { about } = readPush({
    ...CARD,
    actions: [
      { action: "allow_budget", title: "Allow $3 more", amount: { usd: "3.00" } },
      { action: "terminate", title: "Stop…", sure: "Stop now" },
    ],
  });

  it("allows what its button says", () => {
    expect(tapOf(about, "0", "k")).toMatchObject({
      action: "allow_budget",
      amount: { usd: "3.00" },
      decision: "d1",
      version: 3,
    });
    expect(question(about, "0")).toBeNull();
  });

  it("ends nothing by the first tap, and asks", () => {
    const asked = question(about, "1");

    expect(tapOf(about, "1", "k")).toBeNull();
    expect([
      asked?.title,
      asked?.options.tag,
      asked?.options.actions.map(({ title }) => title),
    ]).toEqual(["Stop fix-auth-tests?", "d1", ["Stop now", "Open card"]]);
  });

  it("ends it by the second, with the version the card came with", () => {
    const asked = question(about, "1");

    expect(asked && tapOf(asked.about, "0", "k")).toMatchObject({
      action: "terminate",
      decision: "d1",
      version: 3,
      run: "r1",
    });
    expect(asked && tapOf(asked.about, "1", "k")).toBeNull();
  });

  it.each([{ usd: {} }, [3], "3", null])("an amount of another form (%j) is none", (amount) => {
    const odd = readPush({ ...CARD, actions: [{ action: "allow_budget", title: "More", amount }] });
    expect(tapOf(odd.about, "0", "k")).not.toMatchObject({ amount });
  });
});

describe("what is no card", () => {
  it("a withdrawal is silent and has no buttons", () => {
    const { options, about } = readPush({ ...CARD, type: "withdrawn" });

    expect([options.silent, options.renotify, options.actions, about.decision]).toEqual([
      true,
      false,
      [],
      "d1",
    ]);
  });

  it("a sign-out takes everything else away, and nothing but that does", () => {
    expect(
      readPush({ type: "withdrawn", everything: true, tag: "s", title: "Signed out", open: 0 })
        .everything,
    ).toBe(true);
    expect(
      [true, 1, "yes"].map((everything) => readPush({ ...CARD, everything }).everything),
    ).toEqual([true, false, false]);
    expect(readPush(CARD).everything).toBe(false);
  });

  it("a report belongs to no decision", () => {
    expect(
      readPush({ type: "announcement", tag: "t", title: "Friday cost $31.10" }).about.decision,
    ).toBeNull();
  });

  it.each([null, "text", 7, [], {}, { title: 7, actions: "x", tag: null, open: "many" }])(
    "%j still says that something is there",
    (said) => {
      const { title, open, options } = readPush(said);
      expect([title, open, options.tag, options.actions]).toEqual([
        "Mission Control",
        null,
        "mission-control",
        [],
      ]);
    },
  );

  it.each([
    "https://evil.test/",
    "//evil.test",
    "/\\evil.test",
    "/\t/evil.test",
    "javascript:alert(1)",
    "",
    7,
  ])("an address elsewhere (%s) leads home", (path) =>
    expect(readPush({ ...CARD, path }).about.path).toBe("/"),
  );
});

describe("a tap that was not taken", () => {
  const { about } = readPush(CARD);

  it("says why, in the server's words", () => {
    const { title, options } = refusal(about, 409, "Ana continued it.");

    expect([title, options.body, options.tag]).toEqual([
      "fix-auth-tests: not sent",
      "Ana continued it. Your answer was not sent.",
      "d1",
    ]);
  });

  it("says it in the language the push came in", () => {
    const german = readPush({ ...CARD, language: "de" });
    const { title, options } = refusal(german.about, 409, "The run has moved on.");

    expect([german.options.lang, title, options.body]).toEqual([
      "de",
      "fix-auth-tests: nicht gesendet",
      "Die Karte ist inzwischen weiter. Die Antwort wurde nicht gesendet.",
    ]);
    expect(keeping(german.about).options.lang).toBe("de");
  });

  it("asks to sign in where the session has ended", () => {
    expect(refusal(about, 401, "").title).toBe("Sign in again");
  });

  it("is kept where nobody answers", () => {
    expect(keeping(about).options.body).toContain("sent once when you are back");
  });
});

import { describe, expect, it } from "vitest";
import german from "./de/record";
import english from "./en/record";

describe("the guard's sentences", () => {
  it.each([
    [
      "It ran the same test 4 times and got the same error.",
      "Er führte denselben Test 4\u2011mal aus und bekam denselben Fehler.",
    ],
    [
      "It made the same call once, got the same answer, and is about to do so again.",
      "Er machte denselben Aufruf einmal, bekam dieselbe Antwort und will es wieder tun.",
    ],
    [
      "It was corrected and is about to do the same again.",
      "Er wurde korrigiert und will dasselbe wieder tun.",
    ],
    ["It was corrected and did the same again.", "Er wurde korrigiert und tat dasselbe wieder."],
    [
      "It went through the same 3 turns 2.5 times and came out where it began.",
      "Er durchlief dieselben 3 Schritte 2,5\u2011mal und kam heraus, wo er begann.",
    ],
    ["It has spent $5.10 of $5.00.", "Er hat 5,10\u00a0$ von 5,00\u00a0$ verbraucht."],
    [
      "The organisation's budget of $100.00 for today is reached.",
      "Das heutige Budget der Organisation von 100,00\u00a0$ ist erreicht.",
    ],
    [
      "The same failure came back 3 times: KeyError: 'a'",
      "Derselbe Fehler kam 3\u2011mal: KeyError: 'a'",
    ],
  ])("%s", (said, translated) => {
    expect(german.sentence(said)).toBe(translated);
    expect(english.sentence(said)).toBe(said);
  });

  it("are shown as they were written where they are not known", () => {
    expect(german.sentence("A judge's own words.")).toBe("A judge's own words.");
  });
});

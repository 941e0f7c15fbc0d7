import { describe, expect, it } from "vitest";
import german from "./de/failures";
import english from "./en/failures";

/** As the server keeps them with a delivery, and as a German screen says them. */
const KEPT = [
  [
    "it could not be reached, or refused the message",
    "nicht erreichbar, oder die Nachricht wurde abgelehnt",
  ],
  ["it refused the sign-in (535)", "der Mailserver lehnte die Anmeldung ab (535)"],
  [
    "it took the letter, but not for recipient 2, 3 of 3 (450, 550)",
    "zugestellt, aber abgelehnt für Empfänger 2, 3 von 3 (450, 550)",
  ],
  ["it answered 404", "die Antwort war 404"],
  ["mail.example cannot be resolved", "mail.example ist im DNS nicht zu finden"],
  ["mail.example cannot be looked up", "mail.example ist im DNS nicht zu finden"],
  ["it resolves to an address that is not public", "die Adresse ist nicht öffentlich"],
  ["it leads to an address that is not public", "die Adresse ist nicht öffentlich"],
  [
    "it redirects (308): enter the address that it leads to",
    "Weiterleitung (308): die Zieladresse eintragen",
  ],
  ["it took longer than 40 s", "keine Antwort innerhalb von 40\u00a0s"],
  [
    "the push service could not be reached: push.example took longer than 10 s",
    "der Push-Dienst war nicht erreichbar: push.example antwortete nicht innerhalb von 10\u00a0s",
  ],
  ["its person no longer answers in the project", "die Person antwortet im Projekt nicht mehr"],
  [
    "It was kept with another secret key: enter its address again.",
    "mit einem anderen Schlüssel verschlüsselt: Adresse neu eingeben",
  ],
] as const;

describe("why a message did not arrive", () => {
  it.each(KEPT)("is said in German: %s", (kept, translated) => {
    expect(german.sentence(kept)).toBe(translated);
  });

  it("is said of a refused push with what to do about it", () => {
    const kept =
      "it answered 403: some push services, Apple's among them, want to know whom to turn to; set VAPID_SUBJECT " +
      "to mailto:you@your.domain, or --public-url to an https address out there";

    expect(german.sentence(kept)).toMatch(/^die Antwort war 403: .*VAPID_SUBJECT.*--public-url/);
  });

  it("stays as it is where it is not known", () => {
    expect(german.sentence("SSLError: bad record")).toBe("SSLError: bad record");
    expect(english.sentence("it answered 404")).toBe("it answered 404");
  });

  it("goes into a sentence that has a full stop of its own", () => {
    expect(english.sentence("It was kept with another secret key: enter its address again.")).toBe(
      "It was kept with another secret key: enter its address again",
    );
  });
});

/** The server keeps its reasons in English; one that is not known here, as a library's, stays as it is. */
import type en from "../en/failures";

type Says = (...parts: string[]) => string;
const REASONS: readonly (readonly [RegExp, Says])[] = [
  [
    /^it could not be reached, or refused the message$/,
    () => "nicht erreichbar, oder die Nachricht wurde abgelehnt",
  ],
  [/^it could not be reached, or hung up$/, () => "nicht erreichbar, oder die Verbindung brach ab"],
  [/^its certificate is not trusted$/, () => "dem Zertifikat wird nicht vertraut"],
  [
    /^it offers no STARTTLS, or no sign-in$/,
    () => "der Mailserver bietet kein STARTTLS oder keine Anmeldung",
  ],
  [
    /^it refused the (sign-in|letter) \((\d+)\)$/,
    (what, status) =>
      `der Mailserver lehnte die ${what === "letter" ? "Nachricht" : "Anmeldung"} ab (${status})`,
  ],
  [
    /^it (refused|took the letter, but not for) recipient (.+) of (\d+) \((.+)\)$/,
    (how, which, count, statuses) =>
      `${how === "refused" ? "abgelehnt" : "zugestellt, aber abgelehnt"} für Empfänger ${which} von ${count} (${statuses})`,
  ],
  [/^its address cannot be read: enter it again$/, () => "die Adresse ist unlesbar: neu eingeben"],
  [
    /^It was kept with another secret key: enter its address again\.$/,
    () => "mit einem anderen Schlüssel verschlüsselt: Adresse neu eingeben",
  ],
  [/^it took longer than ([\d.]+) s$/, (s) => `keine Antwort innerhalb von ${s}\u00a0s`],
  [/^it answered (\d+)$/, (status) => `die Antwort war ${status}`],
  [
    /^it redirects \((\d+)\): enter the address that it leads to$/,
    (status) => `Weiterleitung (${status}): die Zieladresse eintragen`,
  ],
  [
    /^it answered (\d+): some push services, Apple's among them,.*$/,
    (status) =>
      `die Antwort war ${status}: manche Push-Dienste, auch der von Apple, verlangen eine Kontaktadresse; ` +
      "VAPID_SUBJECT auf mailto:name@eigene.domain setzen oder --public-url auf eine öffentliche https-Adresse",
  ],
  [
    /^the push service could not be reached: (.*)$/s,
    (why) => `der Push-Dienst war nicht erreichbar: ${sentence(why)}`,
  ],
  [/^nothing came of its last try$/, () => "der letzte Versuch blieb ohne Ergebnis"],
  [
    /^This installation has no VAPID key: set VAPID_PRIVATE_KEY\.$/,
    () => "dieser Installation fehlt der VAPID-Schlüssel: VAPID_PRIVATE_KEY setzen",
  ],
  // Two of them were put in other words once: a delivery keeps those of its time.
  [/^(\S+) cannot be (?:resolved|looked up)$/, (host) => `${host} ist im DNS nicht zu finden`],
  [
    /^(\S+) (?:resolves|leads) to an address that is not public$/,
    (host) =>
      host === "it"
        ? "die Adresse ist nicht öffentlich"
        : `${host} führt zu einer Adresse, die nicht öffentlich ist`,
  ],
  [
    /^(\S+) took longer than ([\d.]+) s$/,
    (host, s) => `${host} antwortete nicht innerhalb von ${s}\u00a0s`,
  ],
  [/^(\S+) cannot be reached: (.*)$/s, (host, why) => `${host} ist nicht erreichbar: ${why}`],
  // Why nothing was sent at all.
  [/^its target was removed$/, () => "das Ziel wurde entfernt"],
  [/^its device was signed out$/, () => "das Gerät wurde abgemeldet"],
  [/^its target is switched off$/, () => "das Ziel ist ausgeschaltet"],
  [/^its project is archived$/, () => "das Projekt ist archiviert"],
  [
    /^its person no longer answers in the project$/,
    () => "die Person antwortet im Projekt nicht mehr",
  ],
];

function sentence(text: string): string {
  for (const [pattern, says] of REASONS) {
    const found = pattern.exec(text);
    if (found) return says(...found.slice(1));
  }
  return text.replace(/\.$/, "");
}

const texts: typeof en = { sentence };
export default texts;

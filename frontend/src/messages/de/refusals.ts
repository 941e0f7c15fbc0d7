/**
 * The server answers in English, with a code. A sentence that is known here is said in German;
 * of any other, what its code says, and beside it the server's own words.
 */
import { span } from "../../format/time";
import type en from "../en/refusals";
import { labelOf, partsOf } from "../en/refusals";

/** What the forms call the fields that the server names in its own way. */
const fields: Record<string, string> = {
  address: "Adresse",
  budgets: "Budgets",
  budgets_day_usd: "Je Tag, alle Läufe, Dollar",
  budgets_project_usd: "Projekt insgesamt, Dollar",
  budgets_run_turns: "Je Lauf, Schritte",
  budgets_run_usd: "Je Lauf, Dollar",
  cache_read: "Aus dem Cache gelesen",
  cache_write: "In den Cache geschrieben",
  code: "Code aus der App",
  expires_at: "Gültig",
  hears: "Meldet",
  hold_limit: "Längste Pause",
  input: "Eingabe",
  keep_words_days: "Wortlaut aufbewahren",
  kind: "Art",
  language: "Sprache",
  name: "Name",
  note: "Name oder Notiz",
  output: "Ausgabe",
  overlap_hours: "Der alte Schlüssel",
  password: "Passwort",
  pattern: "Aufruf",
  quiet_from: "Ruhezeit",
  quiet_to: "Ruhezeit",
  redact_rules: "Regeln",
  role: "Rolle",
  step_minutes: "Verzögerung",
  time_zone: "Zeitzone",
  value: "Domain oder Gruppe",
};

/** What no form asks for by a name of its own; the server's names are English words. */
const UNLABELLED: Record<string, string> = {
  agent: "Agent",
  agents_choose: "Agenten dürfen wählen",
  amount: "Betrag",
  day_usd: "Dollar je Tag",
  days: "Gültig",
  fail: "Wenn Mission Control ausfällt",
  file: "Datei",
  message: "Text",
  mode: "Modus",
  model: "Modell",
  policy: "Richtlinie",
  policy_note: "Grund",
  project: "Projekt",
  q: "Suche",
  reason: "Grund",
  run: "Lauf",
  scope: "Geltungsbereich",
  status: "Status",
  unanswered: "Wenn niemand antwortet",
  week: "Woche",
  zone: "Zeitzone",
};
const unlabelled = (name: string): string => UNLABELLED[name] ?? `Feld „${name}“`;

/** What a code says in full, whatever the sentence. */
const CODES: Record<string, string> = {
  agents_waiting:
    "In diesem Projekt warten Läufe auf eine Antwort. Erst beantworten oder beenden, dann archivieren.",
  key_reused: "Das wurde schon mit anderem Inhalt gesendet. Bitte neu laden.",
  last_owner: "Das Projekt hat sonst keinen Eigentümer. Erst jemand anderen dazu machen.",
  not_signed_in: "Nicht mehr angemeldet. Bitte neu anmelden.",
  project_archived:
    "Dieses Projekt ist archiviert: Es kann nur gelesen werden, bis ein Eigentümer es zurückholt.",
  second_factor_needed:
    "Dieses Projekt verlangt einen zweiten Faktor: unter Einstellungen, Eigenes Konto einrichten.",
  sign_in_again: "Die Anmeldung liegt einige Zeit zurück: bitte noch einmal anmelden.",
  stale_policy: "Die Richtlinie ist inzwischen weiter; der eigene Entwurf wurde nicht gespeichert.",
  stale_run: "Der Lauf ist inzwischen weiter. Bitte neu laden.",
};

/** What a code says of a sentence that is not known here. */
const KINDS: Record<string, string> = {
  action_unavailable: "Das geht jetzt nicht",
  body_too_large: "Zu groß",
  forbidden: "Nicht erlaubt",
  invalid_request: "Nicht angenommen",
  no_such_move: "Das geht in diesem Status nicht",
  not_found: "Das gibt es hier nicht",
  too_many_open_runs: "Zu viele offene Läufe",
  unavailable: "Das geht jetzt nicht",
  wrong_media_type: "Diese Art Datei wird nicht gelesen",
};

/** What is wrong with a field, by the type that pydantic gives the fault. */
const FAULTS: readonly (readonly [RegExp, string])[] = [
  [/^missing$/, "Das Feld fehlt."],
  [/^(unexpected_keyword_argument|extra_forbidden)$/, "Das Feld gibt es hier nicht."],
  [/^string_too_short$/, "Der Text ist zu kurz."],
  [/^string_too_long$/, "Der Text ist zu lang."],
  [/^string_pattern_mismatch$/, "Der Text hat nicht die erwartete Form."],
  [/^string_/, "Erwartet wird Text."],
  [/^int_/, "Erwartet wird eine ganze Zahl."],
  [/^(float|decimal|finite_number)/, "Erwartet wird eine Zahl."],
  [/^(greater|less)_than/, "Die Zahl liegt außerhalb des Erlaubten."],
  [/^bool_/, "Erwartet wird Ja oder Nein."],
  [/^(literal_error|enum)$/, "Das steht nicht zur Wahl."],
  [/^too_short$/, "Das sind zu wenige."],
  [/^too_long$/, "Das sind zu viele."],
  [/^(list|tuple|set|frozen_set)_/, "Erwartet wird eine Liste."],
  [/^(date|time)/, "Erwartet wird ein Zeitpunkt."],
  [/^uuid_/, "Erwartet wird eine ID."],
  [/^url_/, "Erwartet wird eine Adresse."],
];

type Says = (...parts: string[]) => string;
const THINGS: Record<string, string> = {
  views: "Ansichten",
  rules: "Regeln",
  passkeys: "Passkeys",
  "open links": "offene Links",
  "active tokens": "gültige Tokens",
  "active keys": "gültige Schlüssel",
  "open invitations": "offene Einladungen",
};
const SENTENCES: readonly (readonly [RegExp, Says])[] = [
  [/^(?:The|That|An?) .+ does not exist here\.$/, () => "Das gibt es hier nicht mehr."],
  [
    new RegExp(`^At most (\\d+) (${Object.keys(THINGS).join("|")})[;.]`),
    (most, things) => `Höchstens ${most} ${THINGS[things] ?? things}. Erst etwas davon entfernen.`,
  ],
  [
    /^At most (\d+) turns a recording; this one has (\d+)\.$/,
    (most, has) => `Höchstens ${most} Schritte je Aufzeichnung; diese hat ${has}.`,
  ],
  [/^At most (\d+) projects per person\.$/, (most) => `Höchstens ${most} Projekte je Person.`],
  [/^A project has at most (\d+) channels\.$/, (most) => `Höchstens ${most} Kanäle je Projekt.`],
  // Of a field: what is expected of it.
  [
    /^[\w.]+: expected 1 to (\d+) (?:signs|(?:visible )?characters.*)\.$/,
    (most) => `Erwartet werden 1 bis ${most} Zeichen.`,
  ],
  [
    /^[\w.]+: (?:expected )?at most (\d+) characters\.$/,
    (most) => `Erwartet werden höchstens ${most} Zeichen.`,
  ],
  [/^[\w.]+: must not be empty\.$/, () => "Das Feld ist leer."],
  [
    /^[\w.]+: expected (\d+)(?: \(for ever\))? to (\d+)( days| seconds)?(?:, got .*)?\.$/,
    (least, most, unit) =>
      unit === " seconds"
        ? `Erwartet werden ${span(Number(least) * 1000)} bis ${span(Number(most) * 1000)}.`
        : `Erwartet wird eine Zahl von ${least} bis ${most}${unit ? " (Tage)" : ""}.`,
  ],
  [
    /^expires_at: expected a time in the future\.$/,
    () => "Erwartet wird eine Zeit in der Zukunft.",
  ],
  [
    /^expires_at: expected a time within (\d+) days\.$/,
    (days) => `Erwartet wird eine Zeit innerhalb von ${days} Tagen.`,
  ],
  [
    /^[\w.]+: expected dollars from 0 to (\d+), got .*\.$/s,
    (most) => `Erwartet werden Dollar von 0 bis ${most}.`,
  ],
  [
    /^[\w.]+: expected dollars per million tokens\.$/,
    () => "Erwartet werden Dollar je Million Tokens.",
  ],
  [
    /^[\w.]+: expected an IANA name such as (\S+), got .*\.$/s,
    (example) => `Erwartet wird eine IANA-Zeitzone wie ${example}.`,
  ],
  [
    /^[\w.]+: expected a time of day such as (\S+), got .*\.$/s,
    (example) => `Erwartet wird eine Uhrzeit wie ${example}.`,
  ],
  [
    /^quiet_from, quiet_to: (?:expected|give) both, or neither\.$/,
    () => "Die Ruhezeit braucht beides, Anfang und Ende, oder keines.",
  ],
  [
    /^pattern: expected a call or a pattern of calls\.$/,
    () => "Erwartet wird ein Aufruf oder ein Muster von Aufrufen.",
  ],
  [
    /^value: expected a domain such as (\S+)\.$/,
    (example) => `Erwartet wird eine Domain wie ${example}.`,
  ],
  [/^value: there is a rule for this already\.$/, () => "Dafür gibt es schon eine Regel."],
  [
    /^code: not the code that the app currently shows\.$/,
    () => "Das ist nicht der Code, den die App jetzt zeigt.",
  ],
  [
    /^[a-z]+: expected (.+), got '(.*)'\.$/s,
    (expected, got) => `Erwartet wird ${expected.replace(" or ", " oder ")}, nicht „${got}“.`,
  ],
  [/^address: must begin with https:\/\/\.$/, () => "Die Adresse muss mit https:// beginnen."],
  [/^address: is no address\.$/, () => "Das ist keine Adresse."],
  [
    /^address: must name a host and no user name\.$/,
    () => "Die Adresse muss einen Host nennen und keinen Benutzer.",
  ],
  [/^address: (\S+) cannot be resolved\.$/, (host) => `${host} ist im DNS nicht zu finden.`],
  [
    /^address: (\S+) resolves to an address that is not public\.$/,
    (host) => `${host} führt zu einer Adresse, die nicht öffentlich ist.`,
  ],
  [/^address: expected (.+)\.$/s, (expected) => `Erwartet wird als Adresse: ${expected}.`],
  // Who may do it.
  [/^Only (?:an owner|a project owner) .*\.$/, () => "Das dürfen nur Eigentümer eines Projekts."],
  [
    /^Set up your own second factor first: otherwise you would lose access\.$/,
    () => "Erst einen eigenen zweiten Faktor einrichten: Sonst sperrt es einen selbst aus.",
  ],
  [
    /^Set up an authenticator app or a passkey first\.$/,
    () => "Erst eine Authenticator-App oder einen Passkey einrichten.",
  ],
  [/^This does not confirm your identity\.$/, () => "Damit ist die Anmeldung nicht bestätigt."],
  [/^You are a member of this project already\.$/, () => "Schon Mitglied in diesem Projekt."],
  [
    /^(.+) started the demo; only they can change it\.$/s,
    (who) => `${who} hat die Demo gestartet; nur wer sie gestartet hat, ändert sie.`,
  ],
  [
    /^This account starts Mission Control and (?:must stay active|cannot be erased)\.$/,
    () => "Mit diesem Konto wird Mission Control gestartet: Es bleibt aktiv.",
  ],
  // What came too late.
  [
    /^This key has expired or was revoked; make a new one\.$/,
    () => "Dieser Schlüssel ist abgelaufen.",
  ],
  [
    /^This passkey could not be verified\. Try again\.$/,
    () => "Der Passkey ließ sich nicht prüfen. Bitte noch einmal versuchen.",
  ],
  [
    /^This browser receives no pushes\.$/,
    () => "Dieser Browser nimmt keine Benachrichtigungen an.",
  ],
  [
    /^It has been answered: there is nothing left to send\.$/,
    () => "Es wurde inzwischen beantwortet: Es gibt nichts mehr zu melden.",
  ],
  [
    /^It is \w+: only failed deliveries can be retried\.$/,
    () => "Nur was fehlschlug, wird noch einmal versucht.",
  ],
  [
    /^Its target was removed: there is nobody to notify\.$/,
    () => "Das Ziel wurde entfernt: Es gibt niemanden mehr zu benachrichtigen.",
  ],
  [
    /^The agent has received the text; it cannot be withdrawn\.$/,
    () => "Der Agent hat den Text schon.",
  ],
  [
    /^The policy has moved on: (.+) saved v(\d+)\. Yours was not saved\.$/s,
    (who, version) =>
      `Die Richtlinie ist inzwischen weiter: ${who} hat v${version} gespeichert. Der eigene Entwurf wurde nicht gespeichert.`,
  ],
  [
    /^The file was read, but it contains no turns\.$/,
    () => "Die Datei wurde gelesen; sie enthält keinen Schritt.",
  ],
  [
    /^Only `manage\.py up` can start the demo's agents\.$/,
    () => "Nur `manage.py up` startet die Agenten der Demo.",
  ],
];

/** A sentence that does not say of which field it is. */
const OF_A_FIELD = /^(?:Erwartet|Das Feld|Dafür)/;

const texts: typeof en = {
  fields,
  sentence: (refusal) => {
    const { code, message, body } = refusal;
    const { label, rest } = partsOf(refusal, fields, unlabelled);
    for (const [pattern, says] of SENTENCES) {
      const found = pattern.exec(message);
      if (!found) continue;
      const said = says(...found.slice(1));
      return OF_A_FIELD.test(said) ? label + said : said;
    }
    const [, wrong] = FAULTS.find(([type]) => type.test(String(body?.fault))) ?? [];
    if (wrong) return `${labelOf(String(body?.field), fields, unlabelled)}: ${wrong}`;
    const kind = KINDS[code];
    return CODES[code] ?? `${kind ? `${kind}: ` : ""}${label}${rest}`;
  },
};
export default texts;

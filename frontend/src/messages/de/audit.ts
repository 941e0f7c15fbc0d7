import type en from "../en/audit";
import { counted } from "../plural";

/** Was jemand am Protokoll tun durfte, nach dem Wort der Schnittstelle. */
const AMENDED: Readonly<Record<string, string>> = {
  erased: "löschte den Inhalt eines Laufs",
  person_erased: "löschte das Konto einer Person",
  restored: "spielte eine ältere Kopie der Datenbank ein",
  rotated: "wechselte das Geheimnis des Servers",
  imported: "übernahm das Projekt aus einer anderen Installation",
};

const SHARED: Readonly<Record<string, string>> = {
  run: "Lauf",
  card: "Karte",
  "costs of": "Kosten ab",
};

/** A second factor stands behind the first: "a password and a code". */
const WAYS_IN: Readonly<Record<string, string>> = {
  "a link": "mit einem Link",
  "a password": "mit einem Passwort",
  "a passkey": "mit einem Passkey",
  "the identity provider": "über den Identitätsanbieter",
  "a code": "mit einem Code der App",
  "a recovery code": "mit einem Wiederherstellungscode",
};

function waysIn(english: string): string {
  return english
    .split(" and ")
    .map((way) => WAYS_IN[way] ?? way)
    .join(" und ");
}

/** What the record says of access, in English, as it is said here; what is not known stays as it is. */
const ACCESS: readonly (readonly [RegExp, (name: string, key: string, agent: string) => string])[] =
  [
    [
      /^made the agent key “(.*)” \((.*)\), for the whole project$/s,
      (name, key) => `erstellte den Agentenschlüssel „${name}“ (${key}) für das ganze Projekt`,
    ],
    [
      /^made the agent key “(.*)” \((.*)\), for the runs of “(.*)”$/s,
      (name, key, agent) =>
        `erstellte den Agentenschlüssel „${name}“ (${key}) für die Läufe von „${agent}“`,
    ],
    [
      /^made the agent key “(.*)” \((.*)\)$/s,
      (name, key) => `erstellte den Agentenschlüssel „${name}“ (${key})`,
    ],
    [
      /^revoked the agent key “(.*)” \((.*)\)$/s,
      (name, key) => `widerrief den Agentenschlüssel „${name}“ (${key})`,
    ],
    [
      /^made the personal token “(.*)” \((.*)\)$/s,
      (name, key) => `erstellte das persönliche Token „${name}“ (${key})`,
    ],
    [
      /^revoked the personal token “(.*)” \((.*)\)$/s,
      (name, key) => `widerrief das persönliche Token „${name}“ (${key})`,
    ],
    [/^paired “(.*)”$/s, (name) => `koppelte „${name}“`],
    [
      /^signed in “(.*)” by (.*)$/s,
      (name, way) =>
        `meldete sich ${name === "ein Browser" ? "" : `auf „${name}“ `}${waysIn(way)} an`,
    ],
    [/^had pushes sent to “(.*)”$/s, (name) => `ließ Benachrichtigungen an „${name}“ senden`],
    [/^ended the pushes to “(.*)”$/s, (name) => `beendete die Benachrichtigungen an „${name}“`],
    [/^signed out “(.*)”$/s, (name) => `meldete „${name}“ ab`],
    [/^signed out everywhere else$/, () => "meldete sich überall sonst ab"],
    [
      /^shared the (run|card|costs of) (\S+) by a link for (\d+) days$/,
      (thing, which, days) => `teilte per Link für ${days} Tage: ${SHARED[thing] ?? ""} ${which}`,
    ],
    [
      /^revoked the link to the (run|card|costs of) (\S+)$/,
      (thing, which) => `widerrief den Link: ${SHARED[thing] ?? ""} ${which}`,
    ],
  ];

function accessed(sentence: string): string {
  for (const [pattern, say] of ACCESS) {
    const found = pattern.exec(sentence);
    if (found)
      return say(
        found[1] === "a browser" ? "ein Browser" : (found[1] ?? ""),
        found[2] ?? "",
        found[3] ?? "",
      );
  }
  return sentence;
}

const texts: typeof en = {
  title: "Protokoll",
  notChecked: "Das Protokoll konnte nicht geprüft werden.",
  checking: "Das Protokoll wird verifiziert.",
  whole: "Protokoll verifiziert.",
  broken: "Verifizierung des Protokolls fehlgeschlagen.",
  rows: (n, at) => `${counted(n, { one: "Zeile", other: "Zeilen" })} geprüft ${at}.`,
  brokenAt: (row) => `Erste ungültige Zeile: ${row}.`,
  unknown: "unbekannt",
  head: "Neueste Prüfsumme",
  verify: "Verifizieren",
  verifyAgain: "Erneut verifizieren",
  checkpoint: (at) => `Letzter signierter Prüfpunkt ${at}.`,
  export: "Exportieren",
  who: "Wer",
  anyone: "Alle",
  when: "Wann",
  times: {
    any: "Jederzeit",
    day: "Letzte 24\u00a0h",
    week: "Letzte 7 Tage",
    month: "Letzte 30 Tage",
  },
  onlyRun: (run) => `Nur ${run}`,
  allRuns: "Alle Läufe",
  only: "Nur dieser Lauf",
  before: "vorher",
  after: "nachher",
  nothingSet: "nichts gesetzt",
  none: "Keine Zeile passt zu diesen Filtern.",
  dropAll: "Filter zurücksetzen",
  views: { actions: "Ohne Schritte", people: "Menschen", cards: "Karten", all: "Alles" },
  note: "Wird eine Zeile geändert oder entfernt, stimmt keine Prüfsumme danach mehr.",
  notFetched: "Das Protokoll konnte nicht geladen werden.",
  notFetchedWhy: "Es ist gespeichert; nur diese Ansicht konnte es nicht lesen.",
  nothing: "Noch ist nichts aufgezeichnet. Was Menschen, Regeln und Agenten tun, erscheint hier.",
  more: "Mehr",
  erased: "Der Inhalt wurde gelöscht.",
  compared: (since) => `Verglichen mit den Prüfpunkten, die seit ${since} aufbewahrt werden.`,
  notCompared:
    "Es gibt keine Prüfpunktdatei zum Vergleichen: eine ältere Kopie der Datenbank fiele nicht auf.",
  moreFaults: (n) => `${counted(n, { one: "weiterer Fehler", other: "weitere Fehler" })}.`,
  faults: {
    changed: ({ row }) => `Zeile ${row} wurde geändert: sie passt nicht zu ihrer Prüfsumme.`,
    blanked: ({ row }) =>
      `Zeile ${row} hat Inhalt oder Salz verloren, und keine signierte Löschung erlaubt es.`,
    missing: ({ row }) => `Vor Zeile ${row} fehlen Zeilen.`,
    unlinked: ({ row }) => `Zeile ${row} folgt nicht auf die Zeile davor.`,
    cut: ({ row }) => `Nach Zeile ${row} fehlen Zeilen, oder das Ende wurde neu geschrieben.`,
    unsigned: ({ row }) =>
      `Der Prüfpunkt in Zeile ${row} ist mit keinem vertrauten Schlüssel signiert.`,
    rewritten: ({ row }) =>
      `Zeile ${row} ist nicht die, die signiert wurde: die Kette wurde neu geschrieben.`,
    dropped: ({ row }) => `Vor dem Prüfpunkt in Zeile ${row} wurden Prüfpunkte entfernt.`,
    run_missing: ({ row }) => `Der Lauf war bis Zeile ${row} signiert und ist weg.`,
    unanchored: ({ row }) =>
      `Zeile ${row} ist älter als der letzte Prüfpunkt, der sie nicht kennt: sie wurde nachträglich eingesetzt.`,
    erasure: ({ row }) =>
      `Die Löschung oder Rücksicherung in Zeile ${row} ist mit keinem vertrauten Schlüssel signiert.`,
    run_row: ({ what, found, expected }) =>
      `Beim Lauf steht ${what}: ${found}; seine Ereignisse sagen ${expected}.`,
    turn_changed: ({ what }) => `Schritt ${what} ist nicht, was aufgezeichnet wurde.`,
    turn_missing: ({ what }) => `Schritt ${what} fehlt.`,
    turn_added: ({ what }) => `Von Schritt ${what} sagt kein Ereignis etwas.`,
    older_copy: ({ what }) =>
      `Die Prüfpunktdatei kennt Prüfpunkt ${what}, die Datenbank nicht: Prüfpunkte wurden entfernt, oder eine ältere Kopie wurde eingespielt.`,
    other_history: ({ what }) =>
      `Prüfpunkt ${what} ist nicht der in der Prüfpunktdatei: die Geschichte wurde neu geschrieben, oder eine ältere Kopie wurde eingespielt.`,
    heads_file: ({ what }) =>
      `Zeile ${what} der Prüfpunktdatei ist mit keinem vertrauten Schlüssel signiert.`,
  },
  table: {
    link: "Kette",
    time: "Zeit",
    who: "Wer",
    did: "Aktion",
    what: "Gegenstand",
    hash: "Prüfsumme",
    event: "Ereignis",
    row: "Zeile",
    version: (seq, version) => `${String(seq)}, Version ${String(version)}`,
    before: "Vorige Zeile",
    this: "Diese Zeile",
    run: "Lauf",
  },
  noCeiling: "keine",
  scopes: {
    run: "jeder Lauf",
    project: "alle Läufe",
    day: "ein Tag",
    today: "heute zusätzlich",
    organisation: "alle Projekte, ein Tag",
    organisationToday: "alle Projekte, heute zusätzlich",
    agents: "Agent",
  },
  things: {
    channel: (name) => `den Kanal „${name}“`,
    device: (name) => `das Gerät „${name}“`,
    view: (name) => `die gespeicherte Ansicht „${name}“`,
  },
  reasons: {
    "the agent waits": "wartet auf die Antwort",
    "the agent gave up waiting": "machte ohne Antwort weiter",
    "the agent spoke again": "meldete sich wieder",
    "the session ended": "die Sitzung endete",
    "the session is parked": "die Sitzung ist geparkt",
    "its turn has ended": "seine Runde ist zu Ende",
    "its process was heard of again": "sein Prozess meldete sich wieder",
    "its process ended without a word": "sein Prozess endete ohne ein Wort",
    "no sign of life of its process": "kein Lebenszeichen seines Prozesses",
    "nothing heard for 30 minutes": "seit 30 Minuten nichts gehört",
    "nobody answered": "niemand antwortete",
    "Nobody answered in time.": "niemand antwortete rechtzeitig",
    "it told what it can do": "teilte mit, was er kann",
    "it was asked to finish": "er sollte fertig werden",
    "a new day began": "ein neuer Tag begann",
    "budget raised": "das Budget wurde erhöht",
    "no loop": "keine Schleife",
    named: "benannte den Lauf",
  },
  did: {
    opened: "eröffnete den Lauf",
    moved: (status) => `änderte den Status des Laufs${status && `: ${status}`}`,
    mode: (mode) => `stellte den Modus auf ${mode}`,
    reported: (status) => `meldete ${status}`,
    linked: "verband den Lauf mit seinem Ursprung",
    imported: (file) => `importierte eine Aufzeichnung, ${file}`,
    recorded: (turn) => `zeichnete Schritt ${turn} auf`,
    completed: (turn) => `schloss Schritt ${turn} ab`,
    raised: (what, turn) => `meldete Schritt ${turn} (Regel: ${what})`,
    escalate: "bat um Eskalation",
    askedLocal: "fragte den lokalen Prüfer",
    asked: (judge) => `fragte den Prüfer ${judge}`,
    ruled: (loop, confidence) => `urteilte: ${loop ? "Schleife" : "keine Schleife"}${confidence}`,
    card: "öffnete eine Karte",
    closed: (action) => `schloss die Karte: ${action}`,
    stoppedWaiting: "wartete nicht länger",
    queued: (text) => `reihte ein: „${text}“`,
    messaged: "hat geschrieben",
    took: "nahm die Nachricht an",
    injected: (text) => `korrigierte: „${text}“`,
    wentOn: "kam nach der Korrektur weiter",
    didNotGoOn: "kam nach der Korrektur nicht weiter",
    stoppedCounting: (source) =>
      `zählt keine Kosten mehr von ${source}: eine bessere Quelle ist da`,
    counted: (source) => `zählte Kosten von ${source}`,
    reached: (ceiling, unit) => `erreichte ${ceiling} ${unit}`,
    ended: "beendete den Lauf",
    answer: {
      asked: "bekommt die Antwort",
      delivered: "erhielt die Antwort",
      acknowledged: "befolgte die Antwort",
      unreachable: "war für die Antwort nicht erreichbar",
      superseded: "ersetzte eine noch nicht zugestellte Antwort",
    },
    stopping: "verlangte das Ende des Laufs",
    paused: "hielt den Lauf an",
    restarted: "startete den Lauf neu",
    endedWith: (lead) => `verlangte das Ende des Laufs mit „${lead}“, der ihn startete`,
    hadTurns: (turns) => `verlangte das Ende des Laufs: er hatte ${turns} Schritte zum Abschluss`,
    allowlist: (change, pattern) => `${change} „${pattern}“`,
    changed: (what) => `änderte ${what}`,
    loweredBudget: (figures) => `nahm die Erhöhung zurück: Budget ${figures}`,
    raisedBudget: (figures) => `erhöhte das Budget ${figures}`,
    changedBudget: (figures) => `änderte das Budget: ${figures}`,
    added: (thing) => `fügte ${thing} hinzu`,
    removed: (thing) => `entfernte ${thing}`,
    altered: (thing) => `änderte ${thing}`,
    access: "änderte den Zugang",
    accessed: (sentence) => accessed(sentence),
    anchored: "signierte das Protokoll bis hierher (Prüfpunkt)",
    amended: (change, reason) => `${AMENDED[change] ?? change}: ${reason}`,
    notice: (channel) => `sendete eine Nachricht über ${channel}`,
    noticeFailed: (channel) => `konnte keine Nachricht über ${channel} senden`,
  },
};
export default texts;

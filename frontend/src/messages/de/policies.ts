import type en from "../en/policies";
import { counted } from "../plural";

const runs = { one: "Lauf", other: "Läufe" };
const ofRuns = { one: "Lauf", other: "Läufen" };
const times = { one: "Mal", other: "Mal" };
const inDays = { one: "Tag", other: "Tagen" };

function timesOf(n: number): string {
  return n === 0 ? "nie" : n === 1 ? "einmal" : counted(n, times);
}

/** As the server says what it expects of a value. */
function inGerman(expected: string): string {
  const comma = (figure: string) => figure.replace(".", ",");
  return expected
    .replace(/^a whole number from (\S+) to/, "eine ganze Zahl von $1 bis")
    .replace(
      /^a number from (\S+) to (\S+)/,
      (_, low: string, high: string) => `eine Zahl von ${comma(low)} bis ${comma(high)}`,
    )
    .replace("a number above 0, at most", "eine Zahl über 0, höchstens")
    .replace(/^one of/, "eins von")
    .replace(/^names out of/, "Namen aus")
    .replace(/^a text such as/, "ein Text wie")
    .replace(/^true or false$/, "true oder false");
}

const texts: typeof en = {
  title: "Richtlinien",
  ofItsOwn: "Jedes Projekt hat eine eigene Richtlinie.",
  notFetched: "Richtlinie nicht geladen.",
  notFetchedWhy: "Sie gilt weiterhin.",
  limits: "Grenzen",
  onlyOwner: "Nur Eigentümer können speichern.",
  mend: (n) => `Zum Speichern ${counted(n, { one: "Wert", other: "Werte" })} berichtigen.`,
  nothingChanged: "Keine Änderungen.",
  runToSave: "Erst die Läufe nachspielen.",
  theDefault: "die Vorgabe",
  inForce: (version) => `${version}, gültig`,
  draftFrom: (draft, from, what) => `Entwurf ${draft}, aus ${from} · ${what}`,
  oneChange: (field, before, after) => `1 Änderung: ${field} ${before} → ${after}.`,
  changes: (n) => counted(n, { one: "Änderung", other: "Änderungen" }),
  toMend: (n) => `${String(n)} zu berichtigen`,
  showAs: "Anzeigen als",
  form: "Formular",
  toml: "TOML",
  expectedGot: (expected, got) => `erwartet ${inGerman(expected)}, ist ${got}`,
  expected: (what) => `Erwartet: ${inGerman(what)}.`,
  dollars: "eine Zahl, etwa 5 oder 5,50",
  why: "Grund, für das Protokoll",
  saveAs: (n) => `Als v${String(n)} speichern`,
  save: "Speichern",
  throwAway: "Verwerfen",
  versions: (n) => counted(n, { one: "Version", other: "Versionen" }),
  versionsLabel: "Versionen",
  useAsDraft: "Als Entwurf nehmen",
  nothingInForce: "Gültiges blieb unverändert.",
  cannotRead: "Noch nicht lesbar.",
  rule: "Regel",
  today: "Heute",
  versionToday: (version) => `v${String(version)}, heute`,
  draft: "Entwurf",
  switchedOff: "Abgeschaltete Regeln",
  presetsLabel: "Wann gefragt wird",
  presets: { quiet: "Ruhig", balanced: "Ausgewogen", watchful: "Wachsam" },
  presetHints: {
    quiet: "Nur bei fast sicherem Verdacht.",
    balanced: "Wenn ein Kollege aufsehen würde.",
    watchful: "Früh, für teure oder heikle Läufe.",
  },
  asksByRules: "Fragt nur nach seinen Grenzen.",
  reach: (n, all, score) => `${String(n)} von ${counted(all, ofRuns)} mit Wert ab ${score}`,
  andChanges: (n) => `+ ${counted(n, { one: "Änderung", other: "Änderungen" })}`,
  limit: {
    call: {
      name: "Gleicher Aufruf, identische Ausgabe",
      says: "Fragt nach so vielen identischen Ausgaben.",
    },
    error: {
      name: "Fehlschläge nacheinander",
      says: "Fragt spätestens nach so vielen Fehlversuchen.",
    },
    circles: {
      name: "Wiederholter Zyklus",
      says: "Fragt nach so vielen Wiederholungen.",
    },
    nothing: {
      name: "Keine neue Information",
      says: "Fragt spätestens nach so vielen solchen Fragen.",
    },
    budget: {
      name: "Budget je Lauf",
      says: "Hält bei so vielen Dollar an.",
    },
  },
  less: (name) => `${name}: eins weniger`,
  more: (name) => `${name}: eins mehr`,
  noBudget: "keines",
  whenAsks: "Wenn gefragt wird",
  modes: {
    warn: "Nur protokollieren",
    flag: "Fragen, weiterlaufen",
    pause: "Anhalten",
    auto: "Korrigieren",
  },
  modeSays: {
    warn: "Läuft weiter, niemand wird gefragt.",
    flag: "Läuft weiter, während Sie nachsehen.",
    pause: "Der Lauf wartet.",
    auto: "Sendet die Korrektur; hilft sie nicht, wartet der Lauf.",
  },
  afterwards: {
    stop: (time) => `Nach ${time} endet er.`,
    proceed: (time) => `Nach ${time} läuft er weiter.`,
  },
  advanced: "Erweitert",
  values: (n, changed) =>
    `${counted(n, { one: "Wert", other: "Werte" })}, ${changed === 0 ? "keiner" : String(changed)} geändert`,
  whenTrips: "Wenn ein Detektor auslöst",
  rungs: {
    observe: "protokollieren",
    nudge: "hinweisen",
    escalate: "eskalieren",
    ask: "fragen",
    stop: "beenden",
  },
  whenNearlySure: "Bei fast sicherem Verdacht",
  nudges: { observe: "protokollieren", tell: "dem Agenten sagen" },
  textHint: "TOML oder JSON. Tabellen für manche Läufe:",
  units: {
    calls: "Aufrufe, identische Ausgabe",
    cycles: "Zyklen",
    same: "Fehlschläge nacheinander",
    without_results: "Aufrufe, Ausgabe unbekannt",
    polls: "Aufrufe beim Warten",
    rounds: "Runden",
    near: "fast gleiche Anfragen",
    variants: "fehlgeschlagene Varianten",
    refused: "Ablehnungen anderer Befehle",
    questions: "Fragen, gleiche Antwort",
    known: "Antworten, alle bekannt",
    messages: "Nachrichten hintereinander",
    fresh: "neue Wörter je Nachricht",
    new_terms: "Anteil neuer Wörter",
    embedding: "Embedding",
    suspicions: "fragt ein Modell",
    every: "Schritte zwischen Fragen",
    confidence: "nötige Sicherheit",
    drought: "Versuche ohne Fortschritt",
  },
  names: {
    repeat: "Wiederholungen",
    errors: "Fehlschläge",
    talk: "Nachrichten",
    judge: "Prüfer",
    stagnation: "Stillstand",
  },
  plot: {
    would: (asked, days) =>
      asked === 0
        ? `Hätte Sie in ${counted(days, inDays)} nicht gefragt.`
        : `Hätte Sie in ${counted(days, inDays)} ${timesOf(asked)} gefragt`,
    letContinue: (n, asked) =>
      n === 0
        ? "."
        : n === asked
          ? asked === 1
            ? "; Sie ließen ihn weiterlaufen."
            : "; Sie ließen alle weiterlaufen."
          : `; ${String(n)} davon ließen Sie weiterlaufen.`,
    byLimits: (n, asked) => `${String(n)} von ${String(asked)} durch eine Grenze.`,
    today: (at, asked, continued) =>
      `Heute ${at}: ${timesOf(asked)}${continued > 0 ? `, ${String(continued)} weiterlaufen lassen` : ""}.`,
    todayRules: (asked, continued) =>
      `Heute: ${timesOf(asked)}${continued > 0 ? `, ${String(continued)} weiterlaufen lassen` : ""}.`,
    earlier: (n) =>
      `Er fragt ${counted(Math.abs(n), { one: "Schritt", other: "Schritte" })} ${n > 0 ? "früher" : "später"}.`,
    endThere: "Nach Ende oder Korrektur ist nichts aufgezeichnet.",
    replaying: "Wird nachgespielt …",
    unknown: "Noch nicht bekannt.",
    saved: "Der Entwurf hätte",
    savedMore: "mehr gespart.",
    few: (n) =>
      `Nur ${counted(n, runs)} aufgezeichnet; die Voreinstellungen beruhen auf Läufen anderer.`,
    noRuns: "Kein Lauf aufgezeichnet; die Voreinstellungen beruhen auf Läufen anderer.",
    unscored: (n) => `${counted(n, runs)} ohne Wert, also ohne Punkt.`,
    leftOut: (n) => `${counted(n, { one: "älterer Lauf fehlt", other: "ältere Läufe fehlen" })}.`,
    label: (n) => `${counted(n, runs)} nach Tag und höchstem Stuck-Score`,
    handle: "Fragt Sie ab",
    handleIs: (score, asked) => `${score}, ${timesOf(asked)}`,
    line: (score) => `fragt Sie ab ${score}`,
    todayLine: (score) => `heute ${score}`,
    dayToday: "heute",
    dot: (name, score) => `${name}, ${score}`,
  },
  outcome: {
    corrected: "korrigiert oder beendet",
    continued: "weiterlaufen lassen",
    stopped: "nicht gefragt, beendet",
    unanswered: "gefragt, nicht beantwortet",
    unasked: "nicht gefragt",
  },
  adds: "Kommen hinzu",
  drops: "Fallen weg",
  moves: "Ändern sich",
  ringed: (n) => `${counted(n, runs)}, oben umringt`,
  nothingMoves: "Er fragt bei denselben Läufen wie heute.",
  noLonger: "nicht mehr gefragt",
  replaying: (done, total) => `spielt nach: ${String(done)} von ${counted(total, ofRuns)}`,
  replayed: (n, seconds) => `${counted(n, runs)} in ${String(seconds)} s nachgespielt`,
  replayFailed: "Das Nachspielen schlug fehl.",
  replayAgain: "Nochmals versuchen",
  notSaved: "Die Richtlinie wurde nicht gespeichert.",
  restored: "Die ungespeicherten Änderungen sind wieder da.",
  savedMeanwhile:
    "Inzwischen hat jemand eine andere Fassung gespeichert; der eigene Entwurf ist nicht gespeichert.",
  onTop: "Die Änderungen gelten jetzt für diese Fassung.",
  takesTheirsBack: "Jetzt gespeichert, nimmt er das dort Geänderte zurück.",
  notTried: "Das Nachspielen konnte nicht gestartet werden.",
  notChecked: "Der Entwurf konnte nicht geprüft werden.",
};
export default texts;

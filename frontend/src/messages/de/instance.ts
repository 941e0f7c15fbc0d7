import type en from "../en/instance";
import { counted } from "../plural";

const texts: typeof en = {
  title: "Diese Installation",
  version: "Version",
  python: (version) => `Python ${version}`,
  health: "Zustand",
  well: "OK",
  away: "antwortet nicht",
  parts: { database: "Datenbank", broker: "Broker", worker: "Worker" },
  workerIdle: "Schritte werden gespeichert; geprüft wird erst, wenn er zurück ist.",
  data: "Speicherort",
  folder: "Ordner",
  size: "Datenbank",
  disk: "Freier Speicherplatz",
  diskOf: (free, all) => `${free} von ${all}`,
  holds: "Inhalt",
  runs: (runs, turns, events) => `${runs} Läufe, ${turns} Schritte, ${events} Zeilen im Protokoll`,
  deliveries: "Zustellungen",
  keptDays: (days) =>
    `nach ${counted(days, { one: "Tag", other: "Tagen" })} gelöscht; das Protokoll behält sie`,
  keptForEver: "für immer aufbewahrt",
  behind: "Rückstand",
  nothing: "0",
  waiting: (n) => `${n} Beobachtungen zu prüfen`,
  unindexed: (n) => `${n} Läufe zu indizieren`,
  reach: "Netzwerk",
  address: "Öffentliche Adresse",
  noAddress: "keine: Links in Meldungen brauchen --public-url",
  https: "HTTPS",
  secure: "ja: installierbar, und Telefone bekommen Benachrichtigungen",
  insecure:
    "nein: Andere im Netz können mitlesen, und kein Telefon bekommt Benachrichtigungen (up --https)",
  contact: "Kontakt für Push-Dienste",
  noContact: "keiner",
  contactProblem: {
    none: "Apples Push-Dienst lehnt Pushes ab, die niemanden nennen: VAPID_SUBJECT auf mailto:sie@ihre.domain setzen, oder --public-url auf eine https-Adresse.",
    form: "VAPID_SUBJECT ist weder mailto:sie@ihre.domain noch eine https-Adresse und wird weggelassen. Apples Push-Dienst lehnt solche Pushes ab.",
    local:
      "Diese Adresse erreicht von außen niemand: Apples Push-Dienst lehnt Pushes ab, die sie nennen. VAPID_SUBJECT auf eine andere setzen.",
  },
  limits: "Grenzen",
  limitKinds: {
    runs: "Läufe öffnen",
    turns: "Schritte und Hooks",
    otlp: "Telemetrie",
    taps: "Antworten",
  },
  aMinute: (key, address) =>
    `${key} Anfragen je Minute von einem Schlüssel, ${address} von einer Adresse`,
  unlimited: "beliebig viele",
  oneRequest: "Eine Anfrage",
  bodies: (agent, person) => `${agent} von einem Agenten, ${person} ohne seinen Schlüssel`,
  openings: "Läufe zugleich geöffnet",
  whoMeets: "Wer ihnen nahekommt",
  nobodyMeets:
    "Kein Schlüssel dieser Projekte hat in der letzten Minute etwas gesendet, und keiner wurde abgewiesen.",
  use: (kind, requests, runs) =>
    `${kind}: ${counted(requests, { one: "Anfrage", other: "Anfragen" })} in der letzten Minute, ${counted(runs, { one: "Lauf", other: "Läufe" })} offen`,
  refused: (times) => `${counted(times, { one: "Mal", other: "Mal" })} abgewiesen`,
  again: "Erneut prüfen",
  ownersOnly: "Nur Eigentümer sehen, wo die Daten sind.",
  failed: "Die Installation antwortet nicht.",
};
export default texts;

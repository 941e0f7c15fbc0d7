import type source from "../en/talk";
import { counted } from "../plural";

const texts: typeof source = {
  title: "Unterhaltung",
  reads: (when) => `liest ${when}`,
  readsOrRests: (when) => `liest ${when}, in einer Pause sofort`,
  box: "Nachricht an den Agenten",
  placeholder: "Was soll er wissen?",
  to: (agent) => `an ${agent}`,
  toAll: "An alle Agenten des Laufs",
  send: "Senden",
  sending: "Gesendet…",
  empty: "Noch wurde nichts gesagt.",
  earlier: (n) => counted(n, { one: "frühere Nachricht", other: "frühere Nachrichten" }),
  notFetched: "Die Unterhaltung konnte nicht geladen werden.",
  agent: "Agent",
  quick: {
    label: "Schnelle Antworten",
    now: ["Was jetzt?", "Was passiert gerade, und was kommt als Nächstes?"],
    sum: ["Zusammenfassen", "Fasse zusammen: Was ist fertig, was fehlt, was ist unsicher?"],
    tests: ["Tests ausführen", "Führe jetzt die Tests aus und sage, was fehlschlägt."],
    commit: [
      "Committen und aufhören",
      "Committe, was funktioniert, höre dann auf und sage, was fehlt.",
    ],
  },
  state: {
    queued: "wartet",
    goes: (when) => `kommt an: ${when}`,
    ifResumed: "kommt an, falls der Lauf weitergeht",
    never: "nicht zugestellt, der Lauf ist gestoppt",
    cancel: "Abbrechen",
    delivered: (at) => `zugestellt ${at}`,
    notRead: "noch nicht gelesen",
    read: (at) => `gelesen ${at}`,
    acted: "umgesetzt",
    withdrawn: "abgebrochen",
    sending: "wird gesendet",
    kept: "wird bei Verbindung gesendet",
    failed: "nicht gesendet",
    again: "Neu schreiben",
  },
  lost: {
    title: "Die Nachricht wurde nicht gesendet.",
    kept: "Der Text bleibt hier, bis die Seite verlassen wird.",
    close: "Schließen",
    keptUntil: "Der Text bleibt hier: erst die Karte beantworten, dann erneut schreiben.",
  },
  permission: {
    allow_once: (who) => `erlaubt: ${who}`,
    deny: (who) => `abgelehnt: ${who}`,
    answered: "am Terminal beantwortet",
    other: "nicht mehr gefragt",
  },
  answerOnCard: "Eine Karte ist offen: Zuerst dort antworten.",
  toCard: "Zur Karte",
  stopping: "Er hält an und liest nichts mehr.",
  ended: "Der Lauf ist beendet und liest nichts mehr.",
  voice: {
    start: "Diktieren",
    stop: "Diktat beenden",
    privacy:
      "Der Browser schickt die Stimme womöglich an seinen Hersteller, der daraus Text macht.",
    failed: "Das Diktat ging nicht. Mikrofon in den Einstellungen des Browsers prüfen.",
  },
};
export default texts;

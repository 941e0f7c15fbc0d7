import type en from "../en/autofixes";
import { counted } from "../plural";

const texts: typeof en = {
  title: "Autokorrekturen",
  notFetched: "Die Autokorrekturen konnten nicht geladen werden.",
  notFetchedWhy: "Was korrigiert wurde, steht im Protokoll.",
  nothing: "Noch keine Autokorrekturen.",
  nothingWhy:
    "Läufe im Modus „Auto“ werden ohne Tipp korrigiert; jede Korrektur und ihr Ergebnis erscheinen hier.",
  toPolicies: "Zu den Richtlinien",
  wentOn: "Erfolgsquote",
  wentOnShown: "Erfolgsquote der gezeigten",
  judged: (wentOn, judged) => `${String(wentOn)} von ${String(judged)} beurteilten`,
  notJudged: (n) => `; ${String(n)} noch nicht beurteilt`,
  byKind: "Nach Anlass",
  of: (wentOn, judged) => `${String(wentOn)} von ${String(judged)}`,
  theCard: "zur Karte",
  beforeAndAfter: "Vorher und nachher",
  before: "Vor der Korrektur",
  after: "Nach der Korrektur",
  noTurns: "Noch kein Schritt.",
  skipped: "nicht ausgeführt",
  turnsNotFetched: "Die Schritte konnten nicht geladen werden.",
  more: "Mehr",
  note: "Erfolgreich heißt: kein neuer Alarm und neue Information binnen 5 Schritten. Soll der Text vorher zu sehen sein, den Lauf oder das Projekt von „Auto“ auf „Anhalten“ stellen.",
  outcome: {
    wentOn: (n) =>
      `wieder in Gang, beurteilt nach ${counted(n, { one: "Schritt", other: "Schritten" })}`,
    didNotHelp: "half nicht",
    notJudged: "noch nicht beurteilt",
    notDelivered: "noch nicht zugestellt",
  },
};
export default texts;

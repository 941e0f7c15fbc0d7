import type en from "../en/autofixes";
import { counted } from "../plural";

const texts: typeof en = {
  title: "Autokorrekturen",
  notFetched: "Die Autokorrekturen konnten nicht geladen werden.",
  notFetchedWhy: "Was korrigiert wurde, steht im Protokoll.",
  nothing: "Nichts wurde ohne einen Tipp korrigiert.",
  nothingWhy: "Läufe im Modus „Auto“ korrigieren sich selbst; jede Korrektur steht hier mit dem, was folgte.",
  toPolicies: "Zu den Richtlinien",
  wentOn: "Nach einer Korrektur weitergekommen",
  wentOnShown: "Nach einer Korrektur weitergekommen, von den gezeigten",
  judged: (wentOn, judged) => `${String(wentOn)} von ${String(judged)} beurteilten`,
  notJudged: (n) => `; ${String(n)} noch nicht beurteilt`,
  quote: (text) => `„${text}“`,
  byKind: "Nach Anlass",
  of: (wentOn, judged) => `${String(wentOn)} von ${String(judged)}`,
  theCard: "zur Karte",
  more: "Mehr",
  note: "„Weitergekommen“ heißt: kein neuer Alarm und neue Information binnen 5 Schritten. Soll der Text vorher zu sehen sein, den Lauf oder das Projekt von „Auto“ auf „Anhalten“ stellen.",
  outcome: {
    wentOn: (n) => `weitergekommen, beurteilt nach ${counted(n, { one: "Schritt", other: "Schritten" })}`,
    didNotHelp: "half nicht",
    notJudged: "noch nicht beurteilt",
    notDelivered: "noch nicht zugestellt",
  },
  pin: "automatisch korrigiert",
  pinText: (text) => `: „${text}“`,
};
export default texts;

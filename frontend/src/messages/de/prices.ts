import type en from "../en/prices";
import { counted } from "../plural";

const texts: typeof en = {
  title: (model) => `Preis von ${model}`,
  hint: "Dollar für eine Million Tokens, wie es im Vertrag oder beim Anbieter steht. Gilt ab jetzt in diesem Projekt, vor der öffentlichen Liste; was ein Agent selbst meldet, geht beiden vor.",
  past: "Auch frühere Aufrufe dieses Modells ohne Preis werden damit gezählt. Berichte vergangener Tage werden berichtigt und weisen darauf hin.",
  input: "Eingabe",
  output: "Ausgabe",
  cacheRead: "Aus dem Cache gelesen",
  cacheReadHint: "Leer: wie Eingabe",
  cacheWrite: "In den Cache geschrieben",
  cacheWriteHint: "Leer: wie Eingabe",
  perMillion: "$ je Million",
  project: "Projekt",
  save: "Preis setzen",
  saving: "Wird neu gezählt…",
  cancel: "Abbrechen",
  done: (calls, usd) =>
    `${counted(calls, { one: "Aufruf wurde", other: "Aufrufe wurden" })} neu gezählt: ${usd}.`,
  close: "Schließen",
  owners: "Nur die Eigentümer des Projekts setzen Preise.",
  failed: "Der Server war nicht erreichbar; nichts wurde geändert.",
  asNumber: "Eine Zahl, etwa 5 oder 5,50",
};
export default texts;

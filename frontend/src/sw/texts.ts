/**
 * The worker's own texts, in the language of its pushes. It does not use the pages'
 * catalogues, because a worker is fetched as a whole and needs few texts.
 */
const en = {
  signedOut: "You are signed out on this device.",
  signIn: "Sign in again",
  notSent: (run: string) => `${run}: not sent`,
  tapNotSent: "Your answer was not sent.",
  answered: (status: number) => `The server answered ${String(status)}.`,
  stale: "",
  kept: (run: string) => `${run}: saved`,
  sure: (run: string) => `Stop ${run}?`,
  forGood: "This cannot be undone.",
  toCard: "Open card",
  keptWhy: "No connection. Your answer is sent once when you are back online.",
};

const de: typeof en = {
  signedOut: "Auf diesem Gerät ist niemand angemeldet.",
  signIn: "Neu anmelden",
  notSent: (run) => `${run}: nicht gesendet`,
  tapNotSent: "Die Antwort wurde nicht gesendet.",
  answered: (status) => `Der Server antwortete ${String(status)}.`,
  stale: "Die Karte ist inzwischen weiter.",
  kept: (run) => `${run}: gespeichert`,
  sure: (run) => `${run} stoppen?`,
  forGood: "Das lässt sich nicht rückgängig machen.",
  toCard: "Karte öffnen",
  keptWhy: "Keine Verbindung. Die Antwort wird bei Verbindung einmal gesendet.",
};

export function textsIn(language: string): typeof en {
  return language === "de" ? de : en;
}

/**
 * The guard's sentences in German. The record stays as it was written; a sentence that
 * is not known here, as those of other judges, is shown as it is.
 */
import type en from "../en/record";

const times = (n: string) => (n === "once" ? "einmal" : `${n.replace(" times", "")}\u2011mal`);
const ANSWERS: Record<string, string> = {
  "the same error": "denselben Fehler",
  "the same answer": "dieselbe Antwort",
  "nearly the same answer": "fast dieselbe Antwort",
  "nothing it did not know": "nichts, was er nicht wusste",
};
const answer = (english: string) => ANSWERS[english] ?? english;
const UNITS: Record<string, string> = {
  turns: "Schritten",
  tokens: "Tokens",
  calls: "Aufrufen",
  seconds: "Sekunden",
};

/** Each deed as what it does, and what follows the count. */
const DEEDS: Record<string, readonly [does: string, rest: string]> = {
  "made the same edit": ["machte dieselbe Änderung", ""],
  "said the same": ["sagte dasselbe", ""],
  "read the same thing": ["las dasselbe", ""],
  "made the same search": ["suchte dasselbe", ""],
  "ran the same command": ["führte denselben Befehl", " aus"],
  "ran the same test": ["führte denselben Test", " aus"],
  "made the same call": ["machte denselben Aufruf", ""],
};
const DEED = `(${Object.keys(DEEDS).join("|")})`;
const TIMES = "(once|\\d+ times)";

function deed(english: string, n: string): string {
  const [does, rest] = DEEDS[english] ?? [english, ""];
  return `Er ${does} ${times(n)}${rest}`;
}

/** Whose ceilings they are: the run's own, or those that it shares with others. */
const HAS = "(It|The project(?: today)?|The tree of .{1,300}|Agent .{1,300})";
const OWNERS: readonly (readonly [RegExp, string])[] = [
  [/^It$/, "Er hat"],
  [/^The project$/, "Das Projekt hat"],
  [/^The project today$/, "Das Projekt hat heute"],
  [/^The tree of (.*)$/s, "Der Laufbaum von $1 hat"],
  [/^Agent (.*) of this run$/s, "Agent $1 dieses Laufs hat"],
  [/^Agent (.*)$/s, "Agent $1 hat"],
];

function has(english: string): string {
  const [pattern, german] = OWNERS.find(([one]) => one.test(english)) ?? [/^/, ""];
  return english.replace(pattern, german);
}

const ACTS: Record<string, string> = {
  "file edit": "Änderung",
  "test run": "Testlauf",
  "shell exec": "Befehl",
  search: "Suche",
  read: "Lesezugriff",
  message: "Nachricht",
  other: "anderer Aufruf",
};

function act(english: string): string {
  const [, kind = "", place] = /^(.*?)(?: on (.*))?$/s.exec(english) ?? [];
  const said = ACTS[kind] ?? kind;
  return place === undefined ? said : `${said}: ${place.replace(" files", " Dateien")}`;
}

const SORTS: Record<string, string> = {
  column: "die Spalte",
  table: "die Tabelle",
  command: "der Befehl",
  option: "die Option",
  attribute: "das Attribut",
  key: "der Schlüssel",
  name: "der Name",
};
const SORT = `(${Object.keys(SORTS).join("|")})`;

type Says = (...parts: string[]) => string;
const SENTENCES: readonly (readonly [RegExp, Says])[] = (
  [
    [`It ${DEED} ${TIMES}\\.`, (what, n) => `${deed(what, n)}.`],
    [
      `It ${DEED} ${TIMES}; what came back is not known\\.`,
      (what, n) => `${deed(what, n)}; was zurückkam, ist nicht bekannt.`,
    ],
    [
      `It ${DEED} ${TIMES}, got ((?:nearly )?the same \\w+), and is about to do so again\\.`,
      (what, n, got) => `${deed(what, n)}, bekam ${answer(got)} und will es wieder tun.`,
    ],
    [
      "It was corrected and is about to do the same again\\.",
      () => "Er wurde korrigiert und will dasselbe wieder tun.",
    ],
    [
      "It was corrected and did the same again\\.",
      () => "Er wurde korrigiert und tat dasselbe wieder.",
    ],
    [
      `It ${DEED} ${TIMES} and got ((?:nearly )?the same \\w+)\\.`,
      (what, n, got) => `${deed(what, n)} und bekam ${answer(got)}.`,
    ],
    [
      `It ${DEED} (\\d+) times, with other steps between, and got ((?:nearly )?the same \\w+)\\.`,
      (what, n, got) =>
        `${deed(what, n)}, mit anderen Schritten dazwischen, und bekam ${answer(got)}.`,
    ],
    [
      "It tried (\\d+) times and failed the same way each time\\.",
      (n) => `Er versuchte es ${n}\u2011mal und scheiterte jedes Mal gleich.`,
    ],
    [
      "It tried (\\d+) variants of one call and none succeeded\\.",
      (n) => `Er versuchte ${n} Varianten eines Aufrufs, und keine gelang.`,
    ],
    [
      "Its last (\\d+) attempts, of several kinds, failed or found nothing\\.",
      (n) => `Seine letzten ${n} Versuche verschiedener Art scheiterten oder fanden nichts.`,
    ],
    [
      "It made its last (\\d+) calls before and got the same answers\\.",
      (n) => `Seine letzten ${n} Aufrufe hatte er schon gemacht, mit denselben Antworten.`,
    ],
    [
      "It handed in its work (\\d+) times; each was refused alike\\.",
      (n) => `Er gab seine Arbeit ${n}\u2011mal ab; jede wurde gleich abgelehnt.`,
    ],
    [
      "Its last (\\d+) calls ask for nothing that it had not asked for; what came back is not known\\.",
      (n) =>
        `Seine letzten ${n} Aufrufe fragen nach nichts, wonach er nicht schon gefragt hatte; was zurückkam, ist nicht bekannt.`,
    ],
    [
      "It said the same (\\d+) times in other words\\.",
      (n) => `Er sagte ${n}\u2011mal dasselbe mit anderen Worten.`,
    ],
    [
      `It repeated itself ${TIMES}, almost word for word\\.`,
      (n) => `Er wiederholte sich ${times(n)} fast wörtlich.`,
    ],
    [
      "It sent (\\d+) messages in a row and said nothing new in them\\.",
      (n) => `Er sandte ${n} Nachrichten hintereinander ohne etwas Neues.`,
    ],
    [
      'It said "(.*)" again and again in one message\\.',
      (what) => `Er sagte „${what}“ immer wieder in einer Nachricht.`,
    ],
    [
      "It asked (\\d+) times in different ways and got (.*)\\.",
      (n, got) => `Er fragte ${n}\u2011mal auf verschiedene Weise und bekam ${answer(got)}.`,
    ],
    [
      "It went to and fro between the same two turns (\\d+) times\\.",
      (n) => `Er ging ${n}\u2011mal zwischen denselben zwei Schritten hin und her.`,
    ],
    [
      "(.*) and (.*) answered each other the same way (\\d+) times\\.",
      (one, other, n) => `${one} und ${other} antworteten einander ${n}\u2011mal gleich.`,
    ],
    [
      "It went through the same (\\d+) turns ([\\d.]+) times and came out where it began\\.",
      (turns, n) =>
        `Er durchlief dieselben ${turns} Schritte ${comma(n)}\u2011mal und kam heraus, wo er begann.`,
    ],
    [
      "Nothing new has come of its last (\\d+) attempts\\.",
      (n) => `Seine letzten ${n} Versuche brachten nichts Neues.`,
    ],
    [
      "(\\d+) agents, one after another, ended on the same failure\\.",
      (n) => `${n} Agenten nacheinander endeten am selben Fehler.`,
    ],
    [
      "(.*) said (\\d+) things to each other and added nothing\\.",
      (who, n) =>
        `${who.replace("one without a name", "ein Agent ohne Namen")} sagten einander ${n} Dinge und fügten nichts hinzu.`,
    ],
    [
      `${HAS} has spent \\$([\\d.]+) of \\$([\\d.]+)\\.`,
      (who, spent, of) => `${has(who)} ${dollars(spent)} von ${dollars(of)} verbraucht.`,
    ],
    [
      "The organisation's budget of \\$([\\d.]+) for today is reached\\.",
      (of) => `Das heutige Budget der Organisation von ${dollars(of)} ist erreicht.`,
    ],
    [
      "The organisation's budget of \\$([\\d.]+) for today is nearly used up\\.",
      (of) => `Das heutige Budget der Organisation von ${dollars(of)} ist fast verbraucht.`,
    ],
    [
      `${HAS} has used (\\d+)% of its budget\\.`,
      (who, part) => `${has(who)} ${part}\u00a0% seines Budgets verbraucht.`,
    ],
    [
      `${HAS} has failed (\\d+) times in a row; (\\d+) are allowed\\.`,
      (who, n, of) =>
        `${has(who)} ${n}\u2011mal hintereinander versagt; ${of}\u2011mal ist erlaubt.`,
    ],
    [
      `${HAS} has used ([\\d.]+) of ([\\d.]+) (\\w+)\\.`,
      (who, n, of, unit) =>
        `${has(who)} ${comma(n)} von ${comma(of)} ${UNITS[unit] ?? unit} verbraucht.`,
    ],
    [
      "(\\d+) attempts have brought little, (\\d+) of its last (\\d+) steps repeat an earlier one\\.",
      (vain, n, of) =>
        `${vain} Versuche haben wenig gebracht, ${n} seiner letzten ${of} Schritte wiederholen einen früheren.`,
    ],
    ["(\\d+) attempts have brought little\\.", (n) => `${n} Versuche haben wenig gebracht.`],
    [
      "(\\d+) of its last (\\d+) steps repeat an earlier one\\.",
      (n, of) => `${n} seiner letzten ${of} Schritte wiederholen einen früheren.`,
    ],
    ["The last (\\d+) events are the same\\.", (n) => `Die letzten ${n} Ereignisse sind gleich.`],
    [
      "The last four events go to and fro between two\\.",
      () => "Die letzten vier Ereignisse gehen zwischen zweien hin und her.",
    ],
    [
      "The last (\\d+) events are alike in their words\\.",
      (n) => `Die letzten ${n} Ereignisse gleichen sich im Wortlaut.`,
    ],
    [
      "It did the same \\((.*)\\) (\\d+) times and met the same error\\.",
      (what, n) => `Er tat ${n}\u2011mal dasselbe (${act(what)}), und derselbe Fehler kam.`,
    ],
    [
      "It did the same \\((.*)\\) (\\d+) times and nothing changed\\.",
      (what, n) => `Er tat ${n}\u2011mal dasselbe (${act(what)}), und nichts änderte sich.`,
    ],
    [
      "Its output is to ([\\d.]+)% one it gave shortly before\\.",
      (part) => `Seine Ausgabe gleicht zu ${comma(part)}\u00a0% einer kurz zuvor.`,
    ],
    [
      "It reached the maximum of (\\d+) iterations\\.",
      (n) => `Er erreichte die Höchstzahl von ${n} Durchläufen.`,
    ],
    [
      "It reached the maximum run time \\(([\\d.]+) hours\\)\\.",
      (hours) => `Er erreichte die längste Laufzeit (${comma(hours)} Stunden).`,
    ],
    [
      "It reached the maximum cost \\(\\$([\\d.]+)\\)\\.",
      (usd) => `Er erreichte die höchsten Kosten (${dollars(usd)}).`,
    ],
    ["It failed (\\d+) times in a row\\.", (n) => `Er scheiterte ${n}\u2011mal hintereinander.`],
    [
      "Its iterations take too long on average\\.",
      () => "Seine Durchläufe dauern im Mittel zu lange.",
    ],
    [
      `It misses the ${SORT} (.*), (\\d+) times\\.`,
      (sort, name, n) => `Es fehlt ${SORTS[sort] ?? sort} ${name}, ${n}\u2011mal.`,
    ],
    [`It misses the ${SORT} (.*)\\.`, (sort, name) => `Es fehlt ${SORTS[sort] ?? sort} ${name}.`],
    [
      "It asks for permission to use (.*)\\.",
      (tool) => `Er bittet um Erlaubnis, ${tool} zu benutzen.`,
    ],
    [
      "It calls (.*), a tool that does not exist here\\.",
      (name) => `Er ruft ${name}, ein Werkzeug, das es hier nicht gibt.`,
    ],
    ["There is no module (.*) here\\.", (name) => `Es gibt hier kein Modul ${name}.`],
    [
      "There is no module (.*); the nearest file is (.*)\\.",
      (name, file) => `Es gibt kein Modul ${name}; die nächste Datei ist ${file}.`,
    ],
    [
      "(.*) is in the project, but not where it is looked for\\.",
      (name) => `${name} gibt es im Projekt, aber nicht dort, wo gesucht wird.`,
    ],
    [
      "It looks for (.*), which does not exist\\. The closest file is (.*)\\.",
      (name, file) => `Gesucht wird ${name}, was es nicht gibt. Die nächste Datei ist ${file}.`,
    ],
    [
      "It looks for (.*), which does not exist\\.",
      (name) => `Gesucht wird ${name}, was es nicht gibt.`,
    ],
    ["The service refuses for now: (.*)", (quote) => `Der Dienst lehnt vorerst ab: ${quote}`],
    [
      "It pages on past the end: (.*) to (.*)\\.",
      (from, to) => `Er blättert über das Ende hinaus: ${from} bis ${to}.`,
    ],
    [
      "What it waits for has not moved in (\\d+) looks: (.*)",
      (n, quote) => `Worauf er wartet, hat sich in ${n} Blicken nicht bewegt: ${quote}`,
    ],
    [
      "It edits (.*) with a text that is not in it\\.",
      (path) => `Er ändert ${path} mit einem Text, der nicht darin steht.`,
    ],
    [
      "(.*) fails in each of (\\d+) runs after (\\d+) edits\\.",
      (name, n, edits) => `${name} scheitert in jedem von ${n} Läufen nach ${edits} Änderungen.`,
    ],
    [
      "(.*) fails in each of (\\d+) runs\\.",
      (name, n) => `${name} scheitert in jedem von ${n} Läufen.`,
    ],
    [
      "It makes and undoes the same edits: (.*)\\.",
      (what) => `Er macht dieselben Änderungen und nimmt sie zurück: ${what}.`,
    ],
    [
      "(\\d+) different calls failed the same way: (.*)",
      (n, quote) => `${n} verschiedene Aufrufe scheiterten gleich: ${quote}`,
    ],
    [
      "The same failure came back (\\d+) times: (.*)",
      (n, quote) => `Derselbe Fehler kam ${n}\u2011mal: ${quote}`,
    ],
    [
      "It ran checks that pass (\\d+) times\\.",
      (n) => `Er führte ${n}\u2011mal Prüfungen aus, die bestehen.`,
    ],
    [
      "(.*) and (.*) hand one matter to each other\\.",
      (one, other) => `${one} und ${other} reichen einander dieselbe Sache zu.`,
    ],
    [
      "Fewer checks fail each time: (\\d+), now (\\d+)\\.",
      (from, to) => `Es scheitern jedes Mal weniger Prüfungen: ${from}, jetzt ${to}.`,
    ],
    [
      "It waits for something that is still moving\\.",
      () => "Er wartet auf etwas, das sich noch bewegt.",
    ],
    ["Each answer brings something new\\.", () => "Jede Antwort bringt etwas Neues."],
    ["nothing", () => "nichts"],
    // Of rules that are gone: cards and journals of their time keep what they said.
    [
      `It looked ${TIMES} in a row; only figures went up and down\\.`,
      (n) => `Er sah ${times(n)} hintereinander nach; nur Zahlen schwankten.`,
    ],
    [
      "It checked the same thing (\\d+) times in different ways; it holds, and nothing was changed between\\.",
      (n) =>
        `Er prüfte dasselbe ${n}\u2011mal auf verschiedene Weise; es stimmt, und dazwischen wurde nichts geändert.`,
    ],
    [
      `It said nearly the same as just before ${TIMES} in a row\\.`,
      (n) => `Er sagte ${times(n)} hintereinander fast dasselbe wie eben.`,
    ],
    [
      "It tried nearly the same (\\d+) times and got ((?:nearly )?the same \\w+)\\.",
      (n, got) => `Er versuchte ${n}\u2011mal fast dasselbe und bekam ${answer(got)}.`,
    ],
  ] satisfies readonly (readonly [string, Says])[]
).map(([pattern, says]) => [new RegExp(`^${pattern}$`, "s"), says]);

function comma(figure: string): string {
  return figure.replace(".", ",");
}

function dollars(amount: string): string {
  return Number(amount).toLocaleString("de-DE", { style: "currency", currency: "USD" });
}

const texts: typeof en = {
  sentence: (text) => {
    for (const [pattern, says] of SENTENCES) {
      const found = pattern.exec(text);
      if (found) return says(...found.slice(1));
    }
    return text;
  },
};
export default texts;

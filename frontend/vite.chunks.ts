/**
 * What is sent together: a screen is a few files, not forty. A browser asks for six at a time, and
 * on a slow line each next six cost another round trip.
 *
 * A group takes what its modules import with it, unless one of a higher priority has that already:
 * parts that many screens share come before those that one kind of screen has.
 */
import type { Rolldown } from "vite";

/** Texts that are said together come together; every other view's are a file of their own. */
const SAID_TOGETHER: Record<string, readonly string[]> = {
  run: ["run", "agent", "summary"],
  costs: ["costs", "prices", "reports"],
  settings: ["access", "channels", "devices", "failures", "instance", "members", "settings"],
};

function textsOf(id: string): string | null {
  const [, language = "", view = ""] = /messages.(en|de).(\w+)\.ts$/.exec(id) ?? [];
  const [name] = Object.entries(SAID_TOGETHER).find(([, views]) => views.includes(view)) ?? [];
  return name === undefined ? null : `${name}-${language}`;
}

/**
 * What screens of several kinds share. Of one kind: charts, a run's turns, its series, and the
 * icons of channels, which come with the one component that draws them.
 */
const SHARED =
  /src.(ui|format|sync|views.shell).(?!mutation|submitHandler|turn|matches|runTimeline|ranges|score|scrollPosition|baseline|ShareList|LoadMore|ChooseProject|rowWindow|[cC]hart|typedNumber|keepFocus)|src.messages.\w+.ts|lucide(?!.*(?:smartphone|webhook|hash|bell|send)\.svelte)|AnswerIcon|CardSteps|Output|icons.(pencil|list-filter|chevron-down|arrow-up|plus)|TapeLegend|history.stateReason/;

/** The files of every visit, which are here before a screen is asked for. */
export const BEGINNING = /\/(svelte|state|index|shared|styles)-/;

export const groups: Rolldown.CodeSplittingGroup[] = [
  // Of what every visit begins with, also the styles: eight small sheets are eight requests.
  {
    name: "styles",
    test: /src.(App|ui|card|views.(shell(?!.Palette)|now|decisions|run.(RunFrame|RunState|RunPhone\.|RunSummary|Restart|VirtualList|TurnPin|TurnResult|AutofixPin|Pin|Meters|ModeSwitch))).*type=style|app\.css/,
    priority: 6,
  },
  // What every visit runs first, in parts of one size: asked for at once, they share the line with
  // little else, and their code runs while the screen's own is on its way.
  { name: "svelte", test: /node_modules.svelte|rolldown.runtime/, priority: 6 },
  { name: "state", test: /src.(sync|wire|format|push|card)/, tags: ["$initial"], priority: 5.5 },
  { name: "app", tags: ["$initial"], priority: 5 },
  { name: "chart", test: /src.ui.[cC]hart/, priority: 4 },
  { name: "shared", test: SHARED, minShareCount: 2, priority: 3 },
  {
    name: "run",
    test: /views.run.(RunFrame|RunState|Meters|ModeSwitch|lazyRef|RunSummary|Restart)|sync.(turns|matches|runTimeline)/,
    priority: 2,
  },
  {
    name: "turns",
    test: /views.run.(VirtualList|TurnPin|TurnResult|AutofixPin)/,
    priority: 1,
  },
  // By itself: *Autofixes* says what a turn did and draws no run.
  { name: "turnWords", test: /format.turnWords/, priority: 2 },
  // What the screens of a project's settings share, small enough to come as one file.
  { name: "forms", test: /shell.ChooseProject|format.typedNumber/, priority: 2 },
  { name: "card", test: /src.card.Card(Head|Judge|Answers|Permission)/, priority: 2 },
  {
    name: "decisions",
    test: /src.card.(Card(?!Evidence)|SelectionBar|selectable)/,
    minShareCount: 2,
    priority: 1,
  },
  // What a desk shows of a card and a phone does not: after the parts that it has in common.
  { name: "deskCard", test: /src.card.(DecisionCard|CardEvidence)/, priority: 0.5 },
  {
    name: "costs",
    test: /views.costs.(Costs|Cost(Bar|Days|Facts|Hero|Pace|Summary))\./,
    priority: 2,
  },
  { name: "costTable", test: /views.costs.(CostTable|CostMethod)/, priority: 1 },
  { name: textsOf, test: /src.messages/, priority: 1 },
];

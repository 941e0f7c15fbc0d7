/**
 * Which modules become one file: a screen is a few files, not forty. A browser requests six at a
 * time, and on a slow line every further six cost another round trip.
 *
 * A group includes what its modules import, unless a group of higher priority has it already:
 * code that many screens share has priority over code of one kind of screen.
 */
import type { Rolldown } from "vite";

/** Views whose texts share a file; the texts of every other view are a file of their own. */
const TEXT_GROUPS: Record<string, readonly string[]> = {
  run: ["run", "agent", "summary"],
  costs: ["costs", "prices", "reports"],
  settings: ["access", "channels", "devices", "failures", "instance", "members", "settings"],
};

function textsOf(id: string): string | null {
  const [, language = "", view = ""] = /messages.(en|de).(\w+)\.ts$/.exec(id) ?? [];
  const [name] = Object.entries(TEXT_GROUPS).find(([, views]) => views.includes(view)) ?? [];
  return name === undefined ? null : `${name}-${language}`;
}

/**
 * What several kinds of screens share. Left out, because one kind uses them: charts, a run's turns
 * and series, and the icons of channels, which are in the file of the one component that draws them.
 */
const SHARED =
  /src.(ui|format|sync|views.shell).(?!mutation|submitHandler|turn|matches|runTimeline|ranges|score|scrollPosition|baseline|ShareList|LoadMore|ChooseProject|rowWindow|[cC]hart|typedNumber|keepFocus)|src.messages.\w+.ts|lucide(?!.*(?:smartphone|webhook|hash|bell|send)\.svelte)|AnswerIcon|CardSteps|Output|icons.(pencil|list-filter|chevron-down|arrow-up|plus)|TapeLegend|history.stateReason/;

/** The files of every visit, which are loaded before a screen is requested. */
export const ENTRY_FILES = /\/(svelte|state|index|shared|styles)-/;

export const groups: Rolldown.CodeSplittingGroup[] = [
  // The styles that every visit needs first, in one file: eight small sheets are eight requests.
  {
    name: "styles",
    test: /src.(App|ui|card|views.(shell(?!.Palette)|now|decisions|run.(RunFrame|RunState|RunPhone\.|RunSummary|Restart|VirtualList|TurnPin|TurnResult|AutofixPin|Pin|Meters|ModeSwitch))).*type=style|app\.css/,
    priority: 6,
  },
  // What every visit runs first, in files of similar size: they are requested at once, while the
  // line carries little else, and their code runs while the screen's own is loading.
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
  // A file of its own: *Autofixes* describes turns, but draws no run.
  { name: "turnWords", test: /format.turnWords/, priority: 2 },
  // What the screens of a project's settings share; small enough for one file.
  { name: "forms", test: /shell.ChooseProject|format.typedNumber/, priority: 2 },
  { name: "card", test: /src.card.Card(Head|Judge|Answers|Permission)/, priority: 2 },
  {
    name: "decisions",
    test: /src.card.(Card(?!Evidence)|SelectionBar|selectable)/,
    minShareCount: 2,
    priority: 1,
  },
  // What only a desktop shows of a card; what a phone shows too is in the groups above.
  { name: "deskCard", test: /src.card.(DecisionCard|CardEvidence)/, priority: 0.5 },
  {
    name: "costs",
    test: /views.costs.(Costs|Cost(Bar|Days|Facts|Hero|Pace|Summary))\./,
    priority: 2,
  },
  { name: "costTable", test: /views.costs.(CostTable|CostMethod)/, priority: 1 },
  { name: textsOf, test: /src.messages/, priority: 1 },
];

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
  now: ["now", "decisions"],
  run: ["run", "agent"],
  costs: ["costs", "prices", "reports"],
  settings: ["access", "channels", "devices", "instance", "members", "settings"],
};

function textsOf(id: string): string | null {
  const [, language = "", view = ""] = /messages.(en|de).(\w+)\.ts$/.exec(id) ?? [];
  const [name] = Object.entries(SAID_TOGETHER).find(([, views]) => views.includes(view)) ?? [];
  return name === undefined ? null : `${name}-${language}`;
}

/** What screens of several kinds share. Of one kind: charts, a run's turns, its series. */
const SHARED =
  /src.(ui|format|sync|views.shell).(?!turn|matches|runTimeline|ranges|score|scrolled|baseline|ShareList|WhichProject|rowWindow|[cC]hart)|src.messages.\w+.ts|lucide(?!.*(mail|smartphone))|AnswerIcon|CardSteps|Output|history.why/;

export const groups: Rolldown.CodeSplittingGroup[] = [
  // Of what every visit begins with, also the styles: eight small sheets are eight requests.
  {
    name: "styles",
    test: /src.(App|ui|card|views.(shell|now|decisions)).*type=style|app\.css/,
    priority: 6,
  },
  { name: "app", tags: ["$initial"], priority: 5 },
  { name: "chart", test: /src.ui.[cC]hart/, priority: 4 },
  { name: "shared", test: SHARED, minShareCount: 3, priority: 3 },
  {
    name: "small",
    test: /icons.(pencil|list-filter|chevron-down|arrow-up|plus)|TapeLegend/,
    priority: 3,
  },
  {
    name: "run",
    test: /views.run.(RunFrame|RunState|VirtualList|TurnPin|TurnResult|FixPin|Meters|ModeSwitch)|sync.(turns|matches|runTimeline)/,
    priority: 2,
  },
  { name: "card", test: /src.card.(PhoneCard|CardHead|CardJudge)\./, priority: 2 },
  { name: "decisions", test: /src.card.(Card|SelectBar)/, minShareCount: 2, priority: 1 },
  { name: "costs", test: /views.costs/, minShareCount: 2, priority: 1 },
  { name: textsOf, test: /src.messages/, priority: 1 },
];

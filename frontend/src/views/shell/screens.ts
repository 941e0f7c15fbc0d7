/** Each screen is a chunk of its own, loaded with its texts when it is first opened. */
import { speech } from "../../messages/speech.svelte";
import type { Route } from "../../route";
import { query } from "../../wire/api";

/**
 * `views`: the texts that a screen and its parts use, in addition to those of every screen.
 *
 * A loaded chunk is returned itself, not as a promise, so that it is drawn in the same frame.
 */
function screen<Chunk extends object>(
  views: readonly string[],
  load: () => Promise<Chunk>,
): () => Chunk | Promise<Chunk> {
  let here: Chunk | null = null;
  return () => here ?? Promise.all([load(), speech.have(views)]).then(([chunk]) => (here = chunk));
}

export const SCREENS = {
  now: screen(["decisions", "now", "record"], () => import("../now/Now.svelte")),
  nowPhone: screen(["decisions", "now", "record"], () => import("../now/NowPhone.svelte")),
  decisions: screen(["decisions", "record"], () => import("../decisions/Decisions.svelte")),
  decisionsPhone: screen(
    ["decisions", "record"],
    () => import("../decisions/DecisionsPhone.svelte"),
  ),
  run: screen(["agent", "run"], () => import("../run/Run.svelte")),
  runPhone: screen(["agent", "run"], () => import("../run/RunOnPhone.svelte")),
  history: screen(["history", "record"], () => import("../history/History.svelte")),
  compare: screen(["compare"], () => import("../compare/Compare.svelte")),
  costs: screen(["costs", "prices"], () => import("../costs/Costs.svelte")),
  reports: screen(["costs", "reports"], () => import("../costs/Reports.svelte")),
  report: screen(["costs", "reports"], () => import("../costs/Report.svelte")),
  policies: screen(["policies", "record"], () => import("../policies/Policies.svelte")),
  allowlist: screen(["allowlist"], () => import("../allowlist/Allowlist.svelte")),
  autofixes: screen(["autofixes", "run"], () => import("../autofixes/Autofixes.svelte")),
  audit: screen(["audit", "record"], () => import("../audit/Audit.svelte")),
  settings: screen(
    [
      "access",
      "account",
      "channels",
      "devices",
      "failures",
      "instance",
      "members",
      "settings",
      "sharing",
    ],
    () => import("../settings/Settings.svelte"),
  ),
} as const;

/** Parts that are loaded after their screen, with texts of their own. */
export const PARTS = {
  connect: screen(["connect"], () => import("../now/Connect.svelte")),
  noProject: screen(["connect"], () => import("../now/NoProject.svelte")),
  demo: screen(["connect"], () => import("../shell/DemoRunning.svelte")),
  conversation: screen(["talk"], () => import("../run/Conversation.svelte")),
  closedProjects: screen(["account"], () => import("../shell/ClosedProjects.svelte")),
  newVersion: screen([], () => import("../shell/NewVersion.svelte")),
  reauthenticate: screen(["account"], () => import("../shell/Reauthenticate.svelte")),
  signIn: screen(["signIn"], () => import("../shell/SignIn.svelte")),
  keys: screen(["keys"], () => import("../shell/KeysDialog.svelte")),
  palette: screen(["palette", "settings"], () => import("../shell/Palette.svelte")),
  importRecording: screen(["recordings"], () => import("../history/ImportRecording.svelte")),
  runImported: screen(["record", "recordings"], () => import("../run/RunImported.svelte")),
  share: screen(["sharing"], () => import("../shell/ShareDialog.svelte")),
  runSummary: screen(["record", "summary"], () => import("../run/RunSummary.svelte")),
  phoneCard: screen(["record"], () => import("../../card/PhoneCard.svelte")),
  allowRun: screen(["allowlist"], () => import("../../card/CardAllowRun.svelte")),
  answerers: screen(["members"], () => import("../../card/CardAnswerers.svelte")),
  deskCard: screen(["record"], () => import("../../card/DecisionCard.svelte")),
} as const;

/** Parts at the top of their screen, which the page requests together with it. */
export const TOPS = {
  run: ["deskCard", "runSummary"],
  runPhone: ["phoneCard", "runSummary"],
} as const satisfies Partial<Record<keyof typeof SCREENS, readonly (keyof typeof PARTS)[]>>;

/** Load the parts at the top of a screen. */
export function topOf(screen: keyof typeof TOPS): unknown[] {
  return TOPS[screen].map((part) => PARTS[part]());
}

/** What a screen reads first at its plain address; the page requests it too. */
export const FIRST = {
  now: "boards/",
  decisions: "boards/",
  run: "runs/{id}/snapshot/",
  costs: "costs/account/?range=day&group_by=agent",
} as const satisfies Partial<Record<Route["name"], string>>;

/** Return the paths that will be read first, exactly as they will be requested. */
export function prefetchPaths(route: Route, search: string, project: string | null): string[] {
  if (route.name === "run") return [FIRST.run.replace("{id}", encodeURIComponent(route.id))];
  if (route.name === "now" || route.name === "decisions") return [FIRST[route.name]];
  if (route.name !== "costs" || search !== "") return [];
  return [FIRST.costs + query({ project }).replace("?", "&")];
}

/** Load a screen's chunk before anything is drawn, in parallel with the rest of the first load. */
export async function prefetchScreen(route: Route, phone: boolean): Promise<void> {
  if (route.name === "now") await (phone ? SCREENS.nowPhone() : SCREENS.now());
  else if (route.name === "decisions")
    await (phone ? SCREENS.decisionsPhone() : SCREENS.decisions());
  else if (route.name === "run")
    await Promise.all(
      phone ? [SCREENS.runPhone(), ...topOf("runPhone")] : [SCREENS.run(), ...topOf("run")],
    );
  else if (route.name !== "lost") await SCREENS[route.name]();
}

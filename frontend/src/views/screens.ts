/** Each screen is a chunk of its own, fetched when it is first looked at. */
import type { Route } from "../route";

export const SCREENS = {
  now: () => import("./Now.svelte"),
  nowPhone: () => import("./NowPhone.svelte"),
  decisions: () => import("./Decisions.svelte"),
  decisionsPhone: () => import("./DecisionsPhone.svelte"),
  run: () => import("./Run.svelte"),
  runPhone: () => import("./RunOnPhone.svelte"),
  history: () => import("./History.svelte"),
  costs: () => import("./Costs.svelte"),
  reports: () => import("./Reports.svelte"),
  report: () => import("./Report.svelte"),
  policies: () => import("./Policies.svelte"),
  allowlist: () => import("./Allowlist.svelte"),
  autofixes: () => import("./Autofixes.svelte"),
  audit: () => import("./Audit.svelte"),
  settings: () => import("./Settings.svelte"),
} as const;

/** Ask for a screen's chunk before anything is drawn, beside what else the first load fetches. */
export async function fetchAhead(route: Route, phone: boolean): Promise<void> {
  if (route.name === "now") await (phone ? SCREENS.nowPhone() : SCREENS.now());
  else if (route.name === "decisions") await (phone ? SCREENS.decisionsPhone() : SCREENS.decisions());
  else if (route.name === "run") await (phone ? SCREENS.runPhone() : SCREENS.run());
  else if (route.name !== "lost" && route.name !== "kit") await SCREENS[route.name]();
}

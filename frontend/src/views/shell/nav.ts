/** The screens of the navigation. */
import Activity from "@lucide/svelte/icons/activity";
import CircleDollarSign from "@lucide/svelte/icons/circle-dollar-sign";
import History from "@lucide/svelte/icons/history";
import Inbox from "@lucide/svelte/icons/inbox";
import Link from "@lucide/svelte/icons/link";
import ListChecks from "@lucide/svelte/icons/list-checks";
import Settings from "@lucide/svelte/icons/settings";
import Sliders from "@lucide/svelte/icons/sliders-horizontal";
import WandSparkles from "@lucide/svelte/icons/wand-sparkles";
import { shell as t } from "../../messages/texts";
import type { Route } from "../../route";

export interface Place {
  name: Route["name"] & keyof typeof t.screens;
  path: string;
  icon: typeof Activity;
  /** The heading of the group of the rail that begins here. */
  group?: keyof typeof t.groups;
  /** Whether it is in the phone's menu, not among its tabs. */
  inMenu?: boolean;
}

export const PLACES: readonly Place[] = [
  { name: "now", path: "/", icon: Activity },
  { name: "decisions", path: "/decisions", icon: Inbox },
  { name: "history", path: "/history", icon: History },
  { name: "costs", path: "/costs", icon: CircleDollarSign },
  { name: "policies", path: "/policies", icon: Sliders, group: "rules", inMenu: true },
  { name: "allowlist", path: "/allowlist", icon: ListChecks, inMenu: true },
  { name: "autofixes", path: "/autofixes", icon: WandSparkles, inMenu: true },
  { name: "audit", path: "/audit", icon: Link, group: "record", inMenu: true },
  { name: "settings", path: "/settings", icon: Settings, inMenu: true },
];

export const TABS = PLACES.filter(({ inMenu }) => !inMenu);
export const MENU = PLACES.filter(({ inMenu }) => inMenu);

/** Return whether a route belongs to a place: a run's page to Now, a comparison to History. */
export function isHere(place: Place, route: Route): boolean {
  return (
    route.name === place.name ||
    (place.name === "now" && route.name === "run") ||
    (place.name === "history" && route.name === "compare") ||
    (place.name === "costs" && route.name === "reports")
  );
}

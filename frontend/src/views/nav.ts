/** The screens that stand. One that is not built is not in the navigation. */
import Activity from "@lucide/svelte/icons/activity";
import CircleDollarSign from "@lucide/svelte/icons/circle-dollar-sign";
import History from "@lucide/svelte/icons/history";
import Inbox from "@lucide/svelte/icons/inbox";
import Link from "@lucide/svelte/icons/link";
import ListChecks from "@lucide/svelte/icons/list-checks";
import Settings from "@lucide/svelte/icons/settings";
import Sliders from "@lucide/svelte/icons/sliders-horizontal";
import WandSparkles from "@lucide/svelte/icons/wand-sparkles";
import type { Route } from "../route";

export interface Place {
  name: Route["name"];
  path: string;
  words: string;
  icon: typeof Activity;
  /** Begins a group of the rail, under this word. */
  group?: string;
  /** Stands in the phone's menu, not among its tabs. */
  inMenu?: boolean;
}

export const PLACES: readonly Place[] = [
  { name: "now", path: "/", words: "Now", icon: Activity },
  { name: "decisions", path: "/decisions", words: "Decisions", icon: Inbox },
  { name: "history", path: "/history", words: "History", icon: History },
  { name: "costs", path: "/costs", words: "Costs", icon: CircleDollarSign },
  { name: "policies", path: "/policies", words: "Policies", icon: Sliders, group: "Rules", inMenu: true },
  { name: "allowlist", path: "/allowlist", words: "Allowlist", icon: ListChecks, inMenu: true },
  { name: "autofixes", path: "/autofixes", words: "Autofixes", icon: WandSparkles, inMenu: true },
  { name: "audit", path: "/audit", words: "Audit", icon: Link, group: "Record", inMenu: true },
  { name: "settings", path: "/settings", words: "Settings", icon: Settings, inMenu: true },
];

export const TABS = PLACES.filter(({ inMenu }) => !inMenu);
export const MENU = PLACES.filter(({ inMenu }) => inMenu);

/** A run's page belongs to Now. */
export function isHere(place: Place, route: Route): boolean {
  return route.name === place.name || (place.name === "now" && route.name === "run");
}

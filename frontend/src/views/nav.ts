/** The screens that stand. One that is not built is not in the navigation. */
import Activity from "@lucide/svelte/icons/activity";
import History from "@lucide/svelte/icons/history";
import Inbox from "@lucide/svelte/icons/inbox";
import Link from "@lucide/svelte/icons/link";
import Sliders from "@lucide/svelte/icons/sliders-horizontal";
import type { Route } from "../route";

export interface Place {
  name: Route["name"];
  path: string;
  words: string;
  icon: typeof Activity;
  /** Stands in the phone's menu, not among its tabs. */
  inMenu?: boolean;
}

export const PLACES: readonly Place[] = [
  { name: "now", path: "/", words: "Now", icon: Activity },
  { name: "decisions", path: "/decisions", words: "Decisions", icon: Inbox },
  { name: "history", path: "/history", words: "History", icon: History },
  { name: "policies", path: "/policies", words: "Policies", icon: Sliders, inMenu: true },
  { name: "audit", path: "/audit", words: "Audit", icon: Link },
];

export const TABS = PLACES.filter(({ inMenu }) => !inMenu);
export const MENU = PLACES.filter(({ inMenu }) => inMenu);

/** A run's page belongs to Now. */
export function isHere(place: Place, route: Route): boolean {
  return route.name === place.name || (place.name === "now" && route.name === "run");
}

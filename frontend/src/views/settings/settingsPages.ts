/** The pages of Settings, with one address each. */
import type { Component } from "svelte";
import { settings as t } from "../../messages/texts";

export interface SettingsPage {
  /** The part of the address after `/settings/`; empty: the first page. */
  slug: string;
  readonly words: string;
  /** Loads the page when it is first opened. */
  load: () => Promise<{ default: Component }>;
}

export const SETTINGS_PAGES: readonly SettingsPage[] = [
  {
    slug: "",
    get words() {
      return t.pages.project;
    },
    load: () => import("./SettingsProject.svelte"),
  },
  {
    slug: "members",
    get words() {
      return t.pages.members;
    },
    load: () => import("./SettingsMembers.svelte"),
  },
  {
    slug: "projects",
    get words() {
      return t.pages.projects;
    },
    load: () => import("./SettingsProjects.svelte"),
  },
  {
    slug: "keys",
    get words() {
      return t.pages.keys;
    },
    load: () => import("./SettingsKeys.svelte"),
  },
  {
    slug: "channels",
    get words() {
      return t.pages.channels;
    },
    load: () => import("./SettingsChannels.svelte"),
  },
  {
    slug: "deliveries",
    get words() {
      return t.pages.deliveries;
    },
    load: () => import("./SettingsDeliveries.svelte"),
  },
  {
    slug: "account",
    get words() {
      return t.pages.account;
    },
    load: () => import("./SettingsAccount.svelte"),
  },
  {
    slug: "devices",
    get words() {
      return t.pages.devices;
    },
    load: () => import("./SettingsDevices.svelte"),
  },
  {
    slug: "device",
    get words() {
      return t.pages.device;
    },
    load: () => import("./SettingsDevice.svelte"),
  },
  {
    slug: "instance",
    get words() {
      return t.pages.instance;
    },
    load: () => import("./SettingsInstance.svelte"),
  },
];

export function settingsPath(slug: string): string {
  return slug === "" ? "/settings" : `/settings/${slug}`;
}

export function pageOf(slug: string): SettingsPage | undefined {
  return SETTINGS_PAGES.find((page) => page.slug === slug);
}

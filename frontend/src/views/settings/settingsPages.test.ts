import { expect, it } from "vitest";
import { routeOf } from "../../route";
import { pageOf, SETTINGS_PAGES, settingsPath } from "./settingsPages";

it("gives every page of Settings an address that leads back to it", () => {
  for (const page of SETTINGS_PAGES) {
    const route = routeOf(settingsPath(page.slug));

    expect(route).toEqual({ name: "settings", page: page.slug });
    expect(pageOf(page.slug)).toBe(page);
  }
});

it("knows no page that is not built", () => {
  expect(pageOf("nowhere")).toBeUndefined();
});

import { compile } from "svelte/compiler";
import { expect, it } from "vitest";
import { drawn, type IconData } from "../../vite.icons";

const PAUSE: IconData = { size: 24, node: [["rect", { x: "14", width: "5" }]] };

it("draws an icon's shapes as they stand, in one template", () => {
  const { js } = compile(drawn(PAUSE), { runes: true, generate: "client" });

  expect(js.code).toContain('<rect x="14" width="5"></rect>');
  expect(js.code).toContain('viewBox="0 0 24 24"');
});

it("hides an icon from readers unless it is told otherwise", () => {
  expect(drawn(PAUSE)).toContain('"aria-hidden": hidden = true');
});

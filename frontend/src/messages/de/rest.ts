/** The German of every view behind the first screens, by the view's name: the file's. */
import type { Catalogue } from "../speech.svelte";

const files = import.meta.glob<object>(
  ["./*.ts", "!./index.ts", "!./rest.ts", "!./card.ts", "!./decisions.ts", "!./now.ts", "!./record.ts", "!./shell.ts", "!./version.ts", "!./words.ts"],
  { eager: true, import: "default" },
);

export const catalogue: Catalogue = Object.fromEntries(
  Object.entries(files).map(([path, texts]) => [path.slice(2, -3), texts]),
);

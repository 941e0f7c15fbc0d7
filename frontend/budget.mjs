/**
 * Print the size of each screen's first load; fail if one is over the budget.
 *
 * A load is the entry and what it imports (Vite's manifest), and what `vite.preloads.ts` lists of a
 * screen: its chunk, what that imports before it runs, its texts. Sizes are gzipped, as when sent.
 */
import { readFileSync } from "node:fs";
import { gzipSync } from "node:zlib";

const DIST = new URL("dist/", import.meta.url);
const LIMITS = { js: 90_000, css: 15_000, files: 22 };

const readTable = (name) => JSON.parse(readFileSync(new URL(`.vite/${name}.json`, DIST), "utf8"));
const manifest = readTable("manifest");
const ENTRY = "index.html";

function entryFiles(key = ENTRY, found = new Set()) {
  const { file, css = [], imports = [] } = manifest[key];
  if (found.has(file)) return found;
  for (const one of [file, ...css]) found.add(one);
  for (const one of imports) entryFiles(one, found);
  return found;
}

function loadOf(more) {
  const files = [...entryFiles(), ...more.map((address) => address.slice(1))];
  const load = { js: 0, css: 0, files: files.length };
  for (const file of files)
    load[file.endsWith(".css") ? "css" : "js"] += gzipSync(
      readFileSync(new URL(file, DIST)),
    ).length;
  return load;
}

const loads = Object.entries(readTable("preloads")).flatMap(([language, screens]) =>
  Object.entries(screens).map(([name, { files }]) => ({
    screen: `${name} ${language}`,
    ...loadOf(files),
  })),
);
const kB = (bytes) => (bytes / 1000).toFixed(1).padStart(6);
console.log("first load of           js kB  css kB   files   (gzipped)");
for (const { screen, js, css, files } of loads) {
  console.log(`${screen.padEnd(20)} ${kB(js)}  ${kB(css)}  ${String(files).padStart(6)}`);
}
const over = loads.flatMap(({ screen, ...load }) =>
  Object.entries(LIMITS)
    .filter(([what, limit]) => load[what] > limit)
    .map(([what, limit]) => `${screen}: ${what} ${load[what]} > ${limit}`),
);
if (loads.length === 0) over.push("no screen is listed");
if (over.length > 0) {
  console.error(`over the budget:\n${over.join("\n")}`);
  process.exit(1);
}

/**
 * What a first load weighs, screen by screen; fails over the budget.
 *
 * Reads Vite's manifest: the entry, a screen's own chunk, all that either imports before
 * it runs, and the texts it says. Sizes are gzipped, as a server in front sends them.
 */
import { readFileSync } from "node:fs";
import { gzipSync } from "node:zlib";

const DIST = new URL("dist/", import.meta.url);
const MOST = { js: 90_000, css: 15_000, files: 24 };
/** German has the guard's sentences besides, which English shows as they were written. */
const MOST_JS = { en: MOST.js, de: MOST.js + 3_500 };

const manifest = JSON.parse(readFileSync(new URL(".vite/manifest.json", DIST), "utf8"));
const ENTRY = "index.html";
const LANGUAGES = ["en", "de"];
const TABLE = readFileSync(new URL("src/views/shell/screens.ts", import.meta.url), "utf8");
const SCREEN = /\bscreen\(\s*\[([^\]]*)\],\s*\(\) =>\s*import\("\.\.\/([^"]+)"\)/g;
const views = new Map(
  [...TABLE.matchAll(SCREEN)].map(([, names, path]) => [`src/views/${path}`, names.match(/\w+/g)]),
);
const screens = [...views.keys()].filter((key) => key in manifest);

function chunksOf(keys, found = new Set()) {
  for (const key of keys) {
    if (found.has(key)) continue;
    found.add(key);
    chunksOf(manifest[key].imports ?? [], found);
  }
  return found;
}

function weightOf(file) {
  return gzipSync(readFileSync(new URL(file, DIST))).length;
}

function loadOf(screen, language) {
  const texts = ["index", ...views.get(screen)].map(
    (view) => `src/messages/${language}/${view}.ts`,
  );
  const chunks = [...chunksOf([ENTRY, screen, ...texts])].map((key) => manifest[key]);
  const scripts = chunks.map(({ file }) => file);
  const styles = [...new Set(chunks.flatMap(({ css }) => css ?? []))];
  const sum = (files) => files.reduce((all, file) => all + weightOf(file), 0);
  return { js: sum(scripts), css: sum(styles), files: scripts.length + styles.length };
}

const loads = screens.flatMap((screen) =>
  LANGUAGES.map((language) => ({
    language,
    screen: `${screen.replace(/^.*\/|\.svelte$/g, "")} ${language}`,
    ...loadOf(screen, language),
  })),
);
const kB = (bytes) => (bytes / 1000).toFixed(1).padStart(6);
console.log("first load of           js kB  css kB   files   (gzipped)");
for (const { screen, js, css, files } of loads) {
  console.log(`${screen.padEnd(20)} ${kB(js)}  ${kB(css)}  ${String(files).padStart(6)}`);
}
const over = loads.flatMap(({ screen, language, ...load }) =>
  Object.entries({ ...MOST, js: MOST_JS[language] })
    .filter(([what, most]) => load[what] > most)
    .map(([what, most]) => `${screen}: ${what} ${load[what]} > ${most}`),
);
if (loads.length === 0) over.push("the manifest names no screen");
if (over.length > 0) {
  console.error(`over the budget:\n${over.join("\n")}`);
  process.exit(1);
}

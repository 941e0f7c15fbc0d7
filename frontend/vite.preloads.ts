/**
 * Writes down what each screen needs first, so that the page can ask for it with its own code:
 * without, a browser learns of a screen's files when the code that names them has run, which on
 * a slow line is a third of a second later.
 *
 * `.vite/preloads.json`: language -> screen -> addresses beside those that the page names itself.
 */
import { readFileSync } from "node:fs";
import { relative } from "node:path";
import type { Plugin, Rolldown } from "vite";

const TABLE = "src/views/shell/screens.ts";
const SCREEN = /\b(\w+): screen\(\s*\[([^\]]*)\],\s*\(\) =>\s*import\("\.\.\/([^"]+)"\)/g;
const LANGUAGES = ["en", "de"];

interface Screen {
  name: string;
  /** Of the texts that it says. */
  views: string[];
  /** Its component. */
  path: string;
}

/** The screens that `screens.ts` lists; its parts come after one. */
function screensIn(table: string): Screen[] {
  return [...table.slice(0, table.indexOf("PARTS")).matchAll(SCREEN)].map(
    ([, name = "", views = "", path = ""]) => ({
      name,
      views: views.match(/\w+/g) ?? [],
      path: `src/views/${path}`,
    }),
  );
}

export function preloads(): Plugin {
  let root = "";
  return {
    name: "preloads",
    apply: "build",
    configResolved(config) {
      root = config.root;
    },
    generateBundle(_, bundle) {
      const chunks = Object.values(bundle).filter((file) => file.type === "chunk");
      const bySource = new Map(
        chunks.map((chunk) => [relative(root, chunk.facadeModuleId ?? ""), chunk]),
      );
      const byFile = new Map(chunks.map((chunk) => [chunk.fileName, chunk]));
      const named = filesOf([bySource.get("index.html")], byFile);
      const screens = screensIn(readFileSync(TABLE, "utf8"));
      const table = LANGUAGES.map(
        (language) =>
          [
            language,
            screens.map(({ name, views, path }) => {
              const texts = ["index", ...views].map(
                (view) => `src/messages/${language}/${view}.ts`,
              );
              const wanted = [path, ...texts].map((source) => bySource.get(source));
              const files = [...filesOf(wanted, byFile)].filter((file) => !named.has(file));
              return [name, files.map((file) => `/${file}`)] as const;
            }),
          ] as const,
      );
      const source = JSON.stringify(
        Object.fromEntries(table.map(([language, rows]) => [language, Object.fromEntries(rows)])),
      );
      this.emitFile({ type: "asset", fileName: ".vite/preloads.json", source });
    },
  };
}

/** Chunks, all that they import before they run, and their styles. */
function filesOf(
  chunks: (Rolldown.OutputChunk | undefined)[],
  byFile: ReadonlyMap<string, Rolldown.OutputChunk>,
  found = new Set<string>(),
): Set<string> {
  for (const chunk of chunks) {
    if (chunk === undefined || found.has(chunk.fileName)) continue;
    found.add(chunk.fileName);
    for (const style of chunk.viteMetadata?.importedCss ?? []) found.add(style);
    filesOf(
      chunk.imports.map((file) => byFile.get(file)),
      byFile,
      found,
    );
  }
  return found;
}

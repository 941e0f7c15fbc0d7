/**
 * Lists what each screen needs first, so that the page can request it together with its own code.
 * Otherwise a browser learns of a screen's files only when the code that names them has run, which
 * on a slow line is a third of a second later.
 *
 * `.vite/preloads.json`: language -> screen -> addresses besides those that the page names itself:
 * of its `files`, without which nothing of it is drawn, and of the `parts` at its top.
 * `.vite/answers.json`: screen -> what it requests from the server first.
 */
import { readFileSync } from "node:fs";
import { join, relative } from "node:path";
import type { Plugin, Rolldown } from "vite";

const TABLE = "src/views/shell/screens.ts";
const SCREEN = /\b(\w+): screen\(\s*\[([^\]]*)\],\s*\(\) =>\s*import\("\.\.\/([^"]+)"\)/g;
const TOP = /^ {2}(\w+): \[([^\]]*)\],$/gm;
const FIRST = /^ {2}(\w+): "([^"]+)",$/gm;
const LANGUAGES = ["en", "de"];

interface ListedScreen {
  name: string;
  /** The views whose texts it shows. */
  views: string[];
  /** The file of its component. */
  path: string;
}

/** Return the screens or parts that a table of `screens.ts` lists. */
function listedIn(table: string): ListedScreen[] {
  return [...table.matchAll(SCREEN)].map(([, name = "", views = "", path = ""]) => ({
    name,
    views: wordsIn(views),
    path: join("src/views/shell", "..", path),
  }));
}

function wordsIn(list: string): string[] {
  return list.match(/\w+/g) ?? [];
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
        chunks.flatMap((chunk) =>
          chunk.moduleIds.map((id) => [relative(root, id), chunk] as const),
        ),
      );
      const byFile = new Map(chunks.map((chunk) => [chunk.fileName, chunk]));
      const named = filesOf([bySource.get("index.html")], byFile);
      const [screens = "", parts = "", tops = "", first = ""] = readFileSync(TABLE, "utf8").split(
        /\b(?:PARTS|TOPS|FIRST) = /,
      );
      const partsAt = new Map(
        [...tops.matchAll(TOP)].map(([, name, list = ""]) => [name, wordsIn(list)]),
      );
      const filesFor = (language: string, listed: ListedScreen[], known: ReadonlySet<string>) => {
        const sources = listed.flatMap(({ views, path }) => [
          path,
          ...views.map((view) => `src/messages/${language}/${view}.ts`),
        ]);
        const files = filesOf(
          sources.map((source) => bySource.get(source)),
          byFile,
        );
        return [...files].filter((file) => !known.has(file));
      };
      const table = LANGUAGES.map(
        (language) =>
          [
            language,
            listedIn(screens).map((screen) => {
              const own = { ...screen, views: ["index", ...screen.views] };
              const files = filesFor(language, [own], named);
              const top = (partsAt.get(screen.name) ?? []).flatMap((part) =>
                listedIn(parts).filter(({ name }) => name === part),
              );
              const more = filesFor(language, top, new Set([...named, ...files]));
              const addresses = {
                files: addressesOf(files, bundle),
                parts: addressesOf(more, bundle),
              };
              return [screen.name, addresses] as const;
            }),
          ] as const,
      );
      const source = JSON.stringify(
        Object.fromEntries(table.map(([language, rows]) => [language, Object.fromEntries(rows)])),
      );
      this.emitFile({ type: "asset", fileName: ".vite/preloads.json", source });
      const answers = Object.fromEntries(
        [...first.matchAll(FIRST)].map(([, name, path]) => [name, path]),
      );
      this.emitFile({
        type: "asset",
        fileName: ".vite/answers.json",
        source: JSON.stringify(answers),
      });
    },
  };
}

/** Sort the largest first: a browser requests six at a time, and small ones arrive meanwhile. */
function addressesOf(files: readonly string[], bundle: Rolldown.OutputBundle): string[] {
  const sizeOf = (name: string) => {
    const file = bundle[name];
    return (file?.type === "chunk" ? file.code : (file?.source ?? "")).length;
  };
  return files.toSorted((a, b) => sizeOf(b) - sizeOf(a)).map((file) => `/${file}`);
}

/** Return the files of chunks, of all that they import before they run, and of their styles. */
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

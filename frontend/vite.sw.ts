/**
 * Builds the service worker beside the app: `/sw.js`, a classic script that contains the list of
 * this build's files and a revision of them.
 */
import { createHash } from "node:crypto";
import { readdir, readFile } from "node:fs/promises";
import { join, relative, resolve, sep } from "node:path";
import { build, type Plugin } from "vite";

export function serviceWorker(entry: string): Plugin {
  let root = "";
  let out = "";
  return {
    name: "service-worker",
    apply: "build",
    configResolved(config) {
      root = config.root;
      out = resolve(config.root, config.build.outDir);
    },
    async closeBundle() {
      const files = await filesOf(out);
      const define = {
        __SHELL__: JSON.stringify(addressesOf(files.map((file) => relative(out, file)))),
        __REVISION__: JSON.stringify(await revisionOf(files)),
      };
      await build({
        root,
        define,
        configFile: false,
        publicDir: false,
        logLevel: "warn",
        build: {
          outDir: out,
          emptyOutDir: false,
          target: "es2022",
          rollupOptions: { input: entry, output: { format: "iife", entryFileNames: "sw.js" } },
        },
      });
    },
  };
}

async function filesOf(folder: string): Promise<string[]> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  return entries
    .filter((e) => e.isFile())
    .map((e) => join(e.parentPath, e.name))
    .sort();
}

/** The page has the address `/`; hidden files have none. */
function addressesOf(files: readonly string[]): string[] {
  const shown = files.filter((file) => !file.startsWith(".") && !file.endsWith(".map"));
  return shown.map((file) => (file === "index.html" ? "/" : `/${file.split(sep).join("/")}`));
}

async function revisionOf(files: readonly string[]): Promise<string> {
  const digest = createHash("sha256");
  for (const file of files) digest.update(file).update(await readFile(file));
  return digest.digest("hex").slice(0, 12);
}

/**
 * Writes compressed copies beside each asset that gets smaller; WhiteNoise serves the smallest one
 * that a browser accepts. Brotli is an eighth smaller than gzip, but browsers accept it only over
 * HTTPS or from their own machine.
 */
import { readdir, readFile, writeFile } from "node:fs/promises";
import { join, resolve } from "node:path";
import { brotliCompressSync, constants, gzipSync } from "node:zlib";
import type { Plugin } from "vite";

const TEXTS = /\.(js|css|svg)$/;
const COMPRESSORS: Record<string, (plain: Buffer) => Buffer> = {
  ".gz": (plain) => gzipSync(plain, { level: 9 }),
  ".br": (plain) =>
    brotliCompressSync(plain, { params: { [constants.BROTLI_PARAM_SIZE_HINT]: plain.length } }),
};

export function compressedAssets(): Plugin {
  let assets = "";
  return {
    name: "compressed-assets",
    apply: "build",
    configResolved({ root, build }) {
      assets = resolve(root, build.outDir, build.assetsDir);
    },
    // Last, because the service worker lists all files: no browser requests a copy by its name.
    closeBundle: { order: "post", sequential: true, handler: () => compressAll(assets) },
  };
}

async function compressAll(assets: string): Promise<void> {
  for (const name of (await readdir(assets)).filter((name) => TEXTS.test(name))) {
    const path = join(assets, name);
    const plain = await readFile(path);
    for (const [ending, compress] of Object.entries(COMPRESSORS)) {
      const compressed = compress(plain);
      if (compressed.length < plain.length) await writeFile(path + ending, compressed);
    }
  }
}

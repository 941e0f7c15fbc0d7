/**
 * Lays packed twins beside each asset that gains by them; WhiteNoise serves the smallest that a
 * browser takes. Brotli is an eighth smaller than gzip, and known to browsers where HTTPS or the
 * machine itself is the server.
 */
import { readdir, readFile, writeFile } from "node:fs/promises";
import { join, resolve } from "node:path";
import { brotliCompressSync, constants, gzipSync } from "node:zlib";
import type { Plugin } from "vite";

const TEXTS = /\.(js|css|svg)$/;
const PACKED: Record<string, (plain: Buffer) => Buffer> = {
  ".gz": (plain) => gzipSync(plain, { level: 9 }),
  ".br": (plain) =>
    brotliCompressSync(plain, { params: { [constants.BROTLI_PARAM_SIZE_HINT]: plain.length } }),
};

export function packedTwins(): Plugin {
  let assets = "";
  return {
    name: "packed-twins",
    apply: "build",
    configResolved({ root, build }) {
      assets = resolve(root, build.outDir, build.assetsDir);
    },
    // Last: the service worker lists what it finds, and browsers ask for no twin by its name.
    closeBundle: { order: "post", sequential: true, handler: () => packAll(assets) },
  };
}

async function packAll(assets: string): Promise<void> {
  for (const name of (await readdir(assets)).filter((name) => TEXTS.test(name))) {
    const path = join(assets, name);
    const plain = await readFile(path);
    for (const [ending, pack] of Object.entries(PACKED)) {
      const packed = pack(plain);
      if (packed.length < plain.length) await writeFile(path + ending, packed);
    }
  }
}

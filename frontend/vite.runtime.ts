/**
 * Writes the bundler's own helper, a hundred bytes, into each chunk that calls it: as a file of
 * its own, it is the last one that a first visit requests, and the whole screen waits for it.
 */
import type { Plugin } from "vite";

const CALLED = /import\{t as (\w+)\}from"\.\/rolldown-runtime-[^"]+";/;
const HELPER = /^var (\w+)=Object\.defineProperty,t=(.+);export\{t\};\s*$/;

export function inlinedRuntime(): Plugin {
  return {
    name: "inlined-runtime",
    apply: "build",
    generateBundle(_, bundle) {
      const chunks = Object.values(bundle).filter((file) => file.type === "chunk");
      const runtime = chunks.find(({ name }) => name === "rolldown-runtime");
      if (!runtime) return;
      const [, define = "", helper] = HELPER.exec(runtime.code) ?? [];
      if (helper === undefined) throw new Error("the bundler writes its helper differently now");
      for (const chunk of chunks) {
        if (!chunk.imports.includes(runtime.fileName)) continue;
        if (!CALLED.test(chunk.code)) throw new Error(`${chunk.name} calls the helper differently`);
        const plain = `var $1=(${define}=>${helper})(Object.defineProperty);`;
        chunk.code = chunk.code.replace(CALLED, plain);
        chunk.imports = chunk.imports.filter((file) => file !== runtime.fileName);
      }
      Reflect.deleteProperty(bundle, runtime.fileName);
    },
  };
}

import { svelte } from "@sveltejs/vite-plugin-svelte";
import { defineConfig } from "vitest/config";
import { ENTRY_FILES, groups } from "./vite.chunks";
import { drawnIcons } from "./vite.icons";
import { compressedAssets } from "./vite.compress";
import { preloads } from "./vite.preloads";
import { inlinedRuntime } from "./vite.runtime";
import { serviceWorker } from "./vite.sw";

const BACKEND = process.env.MISSIONCONTROL_URL ?? "http://127.0.0.1:8765";

export default defineConfig({
  plugins: [
    drawnIcons(),
    svelte(),
    inlinedRuntime(),
    preloads(),
    serviceWorker("src/sw/worker.ts"),
    compressedAssets(),
  ],
  build: {
    target: "es2022",
    manifest: true,
    assetsInlineLimit: 0,
    modulePreload: {
      polyfill: false,
      // The page itself names the entry files, so lists of what a screen needs leave them out.
      resolveDependencies: (_, files, { hostType }) =>
        hostType === "html" ? files : files.filter((file) => !ENTRY_FILES.test(file)),
    },
    rolldownOptions: { output: { codeSplitting: { groups } } },
  },
  server: {
    proxy: {
      "/api": { target: BACKEND },
      "/ws": { target: BACKEND.replace(/^http/, "ws"), ws: true },
    },
  },
  test: {
    environment: "node",
    // Files share one module graph: loading all texts again for each took four fifths of the time.
    isolate: false,
    include: ["src/**/*.test.ts"],
    setupFiles: ["src/messages/spoken.ts"],
    coverage: {
      include: ["src/sync/reduce.ts"],
      thresholds: { branches: 100, lines: 100, functions: 100 },
    },
  },
});

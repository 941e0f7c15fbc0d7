import { svelte } from "@sveltejs/vite-plugin-svelte";
import { defineConfig } from "vitest/config";
import { BEGINNING, groups } from "./vite.chunks";
import { drawnIcons } from "./vite.icons";
import { packedTwins } from "./vite.packed";
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
    packedTwins(),
  ],
  build: {
    target: "es2022",
    manifest: true,
    assetsInlineLimit: 0,
    modulePreload: {
      polyfill: false,
      // The page names its beginning itself: no list of what a screen needs repeats it.
      resolveDependencies: (_, files, { hostType }) =>
        hostType === "html" ? files : files.filter((file) => !BEGINNING.test(file)),
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
    // Files share one module graph: reading every text anew for each took four fifths of the time.
    isolate: false,
    include: ["src/**/*.test.ts"],
    setupFiles: ["src/messages/spoken.ts"],
    coverage: {
      include: ["src/sync/reduce.ts"],
      thresholds: { branches: 100, lines: 100, functions: 100 },
    },
  },
});

import { svelte } from "@sveltejs/vite-plugin-svelte";
import { defineConfig } from "vitest/config";
import { drawnIcons } from "./vite.icons";
import { preloads } from "./vite.preloads";
import { serviceWorker } from "./vite.sw";

const BACKEND = process.env.MISSIONCONTROL_URL ?? "http://127.0.0.1:8765";

export default defineConfig({
  plugins: [drawnIcons(), svelte(), preloads(), serviceWorker("src/sw/worker.ts")],
  build: {
    target: "es2022",
    manifest: true,
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    // What the page itself needs is one file, and so is what eight chunks share, a phone's card, and
    // the small parts, the styles and the icons that two do: a screen is a few requests, not forty.
    rolldownOptions: {
      output: {
        codeSplitting: {
          groups: [
            {
              name: "parts",
              tags: ["$initial"],
              test: /^(?!.*(main\.ts|index\.html))/,
              priority: 2,
            },
            { name: "shared", minShareCount: 8 },
            { name: "card", test: /src.card.(PhoneCard|CardHead|CardJudge)\./ },
            { name: "steps", test: /src.(card.CardSteps|ui.Steps)\./ },
            { name: "shared", minShareCount: 2, maxModuleSize: 1000, priority: -1 },
            { name: "icons", test: /@lucide/, minShareCount: 2 },
            { name: "styles", test: /type=style/, minShareCount: 2 },
          ],
        },
      },
    },
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

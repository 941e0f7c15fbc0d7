import { svelte } from "@sveltejs/vite-plugin-svelte";
import { defineConfig } from "vitest/config";

const BACKEND = process.env.MISSIONCONTROL_URL ?? "http://127.0.0.1:8765";

export default defineConfig({
  plugins: [svelte()],
  build: { target: "es2022", assetsInlineLimit: 0, modulePreload: { polyfill: false } },
  server: {
    proxy: {
      "/api": { target: BACKEND },
      "/ws": { target: BACKEND.replace(/^http/, "ws"), ws: true },
    },
  },
  test: {
    environment: "node",
    include: ["src/**/*.test.ts"],
    coverage: {
      include: ["src/sync/reduce.ts"],
      thresholds: { branches: 100, lines: 100, functions: 100 },
    },
  },
});

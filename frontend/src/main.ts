import { mount } from "svelte";
import "./app.css";
import "./theme.svelte";
import App from "./App.svelte";
import { speech } from "./messages/speech.svelte";
import { serviceWorker } from "./push/serviceWorker.svelte";
import { router } from "./router.svelte";
import { appState } from "./sync/appState.svelte";
import { media } from "./ui/media.svelte";
import { prefetchScreen, prefetchPaths } from "./views/shell/screens";
import { prefetch } from "./wire/api";

/** Usually a screen has been drawn by then. */
const DRAWN_MS = 1_000;

const target = document.getElementById("app");
if (!target) throw new Error("index.html has no #app");
prefetch(["me/", ...prefetchPaths(router.route, location.search, appState.chosen)]);
void appState.enter();
// At once, because the worker of an earlier visit may report a tap on a notification.
serviceWorker.followClicks();
// Nothing is drawn before its texts are loaded.
const spoken = speech.begin();
// The screen itself reports a chunk that cannot be loaded.
const screen = prefetchScreen(router.route, media.isPhone).catch(() => undefined);
// It draws nothing, so it comes after what does.
void screen
  .then(() => import("./ui/keepFocus"))
  .then(
    ({ keepFocus }) => keepFocus(),
    () => undefined,
  );
// Last, because the service worker fetches every file, which keeps a small server busy.
if (import.meta.env.PROD)
  void screen.then(() => setTimeout(() => void serviceWorker.register(), DRAWN_MS));
void spoken.then(() => mount(App, { target }));

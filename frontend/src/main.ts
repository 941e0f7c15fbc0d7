import { mount } from "svelte";
import "./app.css";
import "./theme.svelte";
import App from "./App.svelte";
import { speech } from "./messages/speech.svelte";
import { installation } from "./push/register.svelte";
import { router } from "./router.svelte";
import { appState } from "./sync/appState.svelte";
import { media } from "./ui/media.svelte";
import { fetchAhead, firstAnswers } from "./views/shell/screens";
import { askAhead } from "./wire/api";

/** By then a screen is drawn as a rule. */
const DRAWN_MS = 1_000;

const target = document.getElementById("app");
if (!target) throw new Error("index.html has no #app");
askAhead(["me/", ...firstAnswers(router.route, location.search, appState.chosen)]);
void appState.enter();
// At once: the worker of an earlier visit may have a tap on a notification to tell of.
installation.hear();
// Nothing is drawn before its words are here.
const spoken = speech.begin();
// A chunk that cannot be had is told of by the screen itself.
const screen = fetchAhead(router.route, media.isPhone).catch(() => undefined);
// Nothing is drawn by it: it comes after what is.
void screen
  .then(() => import("./ui/keepFocus"))
  .then(
    ({ keepFocus }) => keepFocus(),
    () => undefined,
  );
// The service worker fetches all there is, and keeps a small server busy: it comes last.
if (import.meta.env.PROD)
  void screen.then(() => setTimeout(() => void installation.begin(), DRAWN_MS));
void spoken.then(() => mount(App, { target }));

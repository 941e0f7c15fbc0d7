import { mount } from "svelte";
import "./app.css";
import "./theme.svelte";
import App from "./App.svelte";
import { speech } from "./messages/speech.svelte";
import { installation } from "./push/register.svelte";
import { router } from "./router.svelte";
import { world } from "./sync/world.svelte";
import { media } from "./ui/media.svelte";
import { fetchAhead } from "./views/screens";

const target = document.getElementById("app");
if (!target) throw new Error("index.html has no #app");
void world.enter();
if (import.meta.env.PROD) void installation.begin();
// A chunk that cannot be had is told of by the screen itself.
fetchAhead(router.route, media.isPhone).catch(() => undefined);
// Whoever reads another language never sees the first one.
await speech.begin();
export default mount(App, { target });

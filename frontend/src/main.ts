import { mount } from "svelte";
import "./app.css";
import "./theme.svelte";
import App from "./App.svelte";
import { world } from "./sync/world.svelte";

const target = document.getElementById("app");
if (!target) throw new Error("index.html has no #app");
void world.enter();
export default mount(App, { target });

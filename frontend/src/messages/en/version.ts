/** The installed app: the bar that offers a newer build, a tap that was kept too long. */
import { source } from "../speech.svelte";

export default source("version", {
  ready: "A new version is ready.",
  cost: "What you are writing here is lost by a reload.",
  reload: "Reload",
  keptTooLong: "This tap was kept for more than 12 hours. It was not sent.",
  later: "Later",
});

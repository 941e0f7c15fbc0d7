/** The installed app: the bar that offers a newer build, a tap that was kept too long. */

const texts = {
  ready: "A new version is ready.",
  cost: "Unsaved text is lost on reload.",
  reload: "Reload",
  keptTooLong: "This answer waited for more than 12 hours and was not sent.",
  later: "Later",
};
export default texts;

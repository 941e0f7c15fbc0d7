/** What stands in place of the screens while nobody is signed in. */
import { strong } from "../strong";

const texts = {
  link: (command: string) => `Open the sign-in link that ${strong(command)} printed.`,
  again:
    "It works once, for ten minutes. On the machine that runs Mission Control, this prints a new one:",
  code: "Signed in on another device? Settings, Devices shows a code there.",
  ways: "More ways to sign in",
  type: "Enter the code",
};
export default texts;

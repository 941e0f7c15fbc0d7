/** The conversation with a run's agent. */
import { counted } from "../plural";

const texts = {
  title: "Conversation",
  reads: (when: string) => `reads ${when}`,
  readsOrRests: (when: string) => `reads ${when}, or at once when idle`,
  box: "Message the agent",
  placeholder: "What should it know?",
  send: "Send",
  sending: "Sent…",
  empty: "Nothing has been said yet.",
  earlier: (n: number) => counted(n, { one: "earlier message", other: "earlier messages" }),
  notFetched: "The conversation could not be loaded.",
  agent: "Agent",
  quick: {
    label: "Quick replies",
    now: ["What now?", "What are you doing right now, and what comes next?"],
    sum: ["Summarize", "Summarize what is done, what is left and what you are unsure about."],
    tests: ["Run the tests", "Run the tests now and tell me what fails."],
    commit: ["Commit and stop", "Commit what works, then stop and say what is left."],
  },
  state: {
    queued: "queued",
    goes: (when: string) => `arrives ${when}`,
    cancel: "Cancel",
    delivered: (at: string) => `delivered ${at}`,
    notRead: "not read yet",
    read: (at: string) => `read ${at}`,
    acted: "acted on",
    withdrawn: "cancelled",
    sending: "sending",
    kept: "sent when back online",
    failed: "not sent",
    again: "Write again",
  },
  permission: {
    allow_once: (who: string) => `${who} allowed`,
    deny: (who: string) => `${who} denied`,
    answered: "answered at the terminal",
    other: "no longer asked",
  },
  answerOnCard: "A card is open: write to the agent there.",
  toCard: "To the card",
  stopping: "It is stopping and reads nothing more.",
  ended: "The run has ended and reads nothing more.",
  voice: {
    start: "Dictate",
    stop: "Stop dictating",
    privacy: "The browser may send your voice to its maker to turn it into text.",
    failed: "Dictation did not work. Check the microphone in the browser’s settings.",
  },
};
export default texts;

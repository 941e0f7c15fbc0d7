/** What the palette says: one line to reach anything. */

const texts = {
  label: "Search runs, screens and actions",
  placeholder: "A run, a screen, a setting, an action…",
  results: "Found",
  none: "Nothing found.",
  kinds: {
    run: "Run",
    screen: "Screen",
    setting: "Setting",
    project: "Project",
    action: "Action",
  },
  allProjects: "All projects",
  searchAll: (line: string) => `Search all runs for “${line}”`,
  costliest: "Costliest runs",
  importRecording: "Import a recording",
  theme: "Switch between light and dark",
  keys: "Show keyboard shortcuts",
  // What stands on each page of Settings, in its own words: a test looks for them there.
  settings: {
    project: [
      "New runs start in",
      "Agents may choose",
      "Longest pause",
      "When Mission Control is down",
      "Budgets",
      "Daily cost report",
      "Keep turn contents",
      "Redact more",
      "Time zone",
    ],
    members: ["Invitations", "Your name"],
    projects: ["Your projects"],
    keys: ["Agent keys", "Personal tokens"],
    instance: ["Health", "Data location", "Network", "Daily budget of all projects", "Limits"],
    channels: ["When a card opens"],
    account: ["Passkeys", "Signed-in browsers", "Other sessions"],
    devices: ["Pair a phone", "Notifications on this device", "Your devices"],
  },
  failed: "Runs could not be searched.",
};
export default texts;

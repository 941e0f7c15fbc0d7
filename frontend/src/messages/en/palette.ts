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
  failed: "Runs could not be searched.",
};
export default texts;

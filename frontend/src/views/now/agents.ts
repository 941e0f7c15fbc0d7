/** The agents that the empty board connects: names and commands. Pure. */
import type { FoundAgentRow, MadeSetupCode } from "../../wire/types";

export const AGENTS = [
  ["claude-code", "Claude Code"],
  ["codex", "Codex"],
  ["cursor", "Cursor"],
  ["gemini", "Gemini CLI"],
  ["python", "Python"],
  ["otel", "OpenTelemetry"],
] as const;
export type AgentName = (typeof AGENTS)[number][0];

/** The file that `guard connect` changes. */
export const SETTINGS: Partial<Record<AgentName, string>> = {
  "claude-code": "~/.claude/settings.json",
  codex: "~/.codex/hooks.json",
  gemini: "~/.gemini/settings.json",
  cursor: "~/.cursor/hooks.json",
};

export const PYTHON = `import guard

with guard.Session("my-run") as session:
    go = session.before("Bash", {"command": "pytest -q"})
    text = run_it() if go.run else go.text
    session.after(go, result=text)`;

/** Return the agents: those found on the server's machine first, the most recently used first. */
export function inOrder(found: readonly FoundAgentRow[]): readonly (typeof AGENTS)[number][] {
  const place = ([name]: (typeof AGENTS)[number]): number => {
    const at = found.findIndex(({ client }) => client === name);
    return at === -1 ? found.length : at;
  };
  return [...AGENTS].sort((a, b) => place(a) - place(b));
}

/** Return the command to paste, with a set-up code instead of a key. */
export function lineFor(agent: AgentName, offer: MadeSetupCode, url: string): string {
  const once = `--url ${url} --once ${offer.code}`;
  const key = `$(${offer.guard} key ${once} --name ${agent})`;
  if (agent === "python")
    return `${offer.install}\nexport MISSIONCONTROL_URL=${url}\nexport MISSIONCONTROL_KEY=${key}`;
  if (agent === "otel")
    return `export OTEL_EXPORTER_OTLP_ENDPOINT=${url}\nexport OTEL_EXPORTER_OTLP_HEADERS="Authorization=Bearer ${key}"\nexport OTEL_EXPORTER_OTLP_PROTOCOL=http/protobuf`;
  return `${offer.guard} connect ${agent} ${once}`;
}

/** Return the command that removes the hooks, by path: `guard` may not be on the shell's PATH. */
export function undoFor(agent: AgentName, offer: MadeSetupCode): string {
  return `${offer.guard} disconnect ${agent}`;
}

/** The agents that the empty board connects: how each is called, and the line for it. Pure. */
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

/** Those found on the server's machine first, the last used of them before all. */
export function inOrder(found: readonly FoundAgentRow[]): readonly (typeof AGENTS)[number][] {
  const place = ([name]: (typeof AGENTS)[number]): number => {
    const at = found.findIndex(({ client }) => client === name);
    return at === -1 ? found.length : at;
  };
  return [...AGENTS].sort((a, b) => place(a) - place(b));
}

/** What to paste: a code that is good for one key stands in the key's place. */
export function lineFor(agent: AgentName, offer: MadeSetupCode, url: string): string {
  const once = `--url ${url} --once ${offer.code}`;
  const key = `$(${offer.guard} key ${once} --name ${agent})`;
  if (agent === "python")
    return `${offer.install}\nexport MISSIONCONTROL_URL=${url}\nexport MISSIONCONTROL_KEY=${key}`;
  if (agent === "otel")
    return `export OTEL_EXPORTER_OTLP_ENDPOINT=${url}\nexport OTEL_EXPORTER_OTLP_HEADERS="Authorization=Bearer ${key}"\nexport OTEL_EXPORTER_OTLP_PROTOCOL=http/protobuf`;
  return `${offer.guard} connect ${agent} ${once}`;
}

/** What takes the hooks out again: by the very `guard` that put them in, which need not be on a shell's path. */
export function undoFor(agent: AgentName, offer: MadeSetupCode): string {
  return `${offer.guard} disconnect ${agent}`;
}

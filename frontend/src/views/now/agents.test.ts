import { describe, expect, it } from "vitest";
import type { MadeSetupCode } from "../../wire/types";
import { inOrder, lineFor, undoFor } from "./agents";

const offer: MadeSetupCode = {
  id: "c",
  project: "p",
  expires_at: "2026-11-21T12:10:00Z",
  used_at: null,
  used_on: "",
  code: "K7QM-42XD",
  guard: "/opt/mc/guard",
  install: "pip install missioncontrol-guard",
  agents: [],
};

describe("the order of the agents", () => {
  it("has the last used one first, and leaves those that are not here as they were", () => {
    const found = [
      { client: "gemini", used_at: "2026-11-21T11:00:00Z" },
      { client: "claude-code", used_at: null },
    ];

    expect(inOrder(found).map(([name]) => name)).toEqual([
      "gemini",
      "claude-code",
      "codex",
      "cursor",
      "python",
      "otel",
    ]);
  });

  it("begins with Claude Code on a machine without any", () => {
    expect(inOrder([])[0]?.[0]).toBe("claude-code");
  });
});

describe("the line", () => {
  it("connects an agent with hooks by a code in a key's place", () => {
    expect(lineFor("codex", offer, "http://127.0.0.1:8765")).toBe(
      "/opt/mc/guard connect codex --url http://127.0.0.1:8765 --once K7QM-42XD",
    );
  });

  it("is undone by the same program, which is not on every path", () => {
    expect(undoFor("codex", offer)).toBe("/opt/mc/guard disconnect codex");
  });

  it("gives a shell a key of its own for Python and OpenTelemetry", () => {
    const lines = (["python", "otel"] as const).map((agent) => lineFor(agent, offer, "http://m"));

    for (const line of lines) expect(line).toContain("$(/opt/mc/guard key --url http://m --once");
    expect(lines[0]).toContain(offer.install);
  });
});

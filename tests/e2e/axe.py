"""What axe says of a screen, kept a file a look, and all of it in one: `test-results/axe.json`.

`uv run python -m tests.e2e.axe` writes that summary from what the last runs kept.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any

from playwright.sync_api import Page, expect

from tests.installations import ROOT

SCRIPT = ROOT / "frontend" / "node_modules" / "axe-core" / "axe.min.js"
TAGS = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa"]
RUN = """async (tags) => {
  const { violations, incomplete, passes } = await axe.run(document, {
    runOnly: { type: "tag", values: tags },
    resultTypes: ["violations", "incomplete"],
  });
  const where = ({ target, html, any, all, none }) => ({
    target: String(target),
    html: html.slice(0, 300),
    why: [...any, ...all, ...none].map(({ message }) => message),
  });
  const told = ({ id, help, nodes }) => ({ id, help, nodes: nodes.map(where) });
  return {
    violations: violations.map(told),
    incomplete: incomplete.map(({ id, nodes }) => ({ id, nodes: nodes.length })),
    passed: passes.length,
    language: document.documentElement.lang,
  };
}"""
RESULTS = Path(os.environ.get("CI_RESULTS") or ROOT / "test-results")
LOOKS = RESULTS / "accessibility"


def in_both_themes(page: Page, what: str, size: str) -> list[str]:
    """Ask axe in dark and in light; return what is wrong, a line a fault."""
    found = []
    for theme in ("dark", "light"):
        page.emulate_media(color_scheme=theme)
        expect(page.locator(f"html[data-theme={theme}]")).to_have_count(1)
        found += complaints(page, what, size, theme)
    return found


def complaints(page: Page, what: str, size: str, theme: str) -> list[str]:
    """Ask axe; keep what it said for the report, return what it found wrong."""
    said = page.evaluate(RUN, TAGS)
    LOOKS.mkdir(parents=True, exist_ok=True)
    name = f"{what}-{size}-{theme}".replace(" ", "-")
    kept = {"screen": what, "size": size, "theme": theme, **said}
    (LOOKS / f"{name}.json").write_text(json.dumps(kept, indent=1))
    return [
        f"{theme}: {rule['id']} at {node['target']}: {'; '.join(node['why'])}"
        for rule in said["violations"]
        for node in rule["nodes"]
    ]


def summary() -> dict[str, Any]:
    """Add up what was kept: every look, and the totals."""
    looks = [_row(json.loads(path.read_text())) for path in sorted(LOOKS.glob("*.json"))]
    return {
        "rules": TAGS,
        "looks": len(looks),
        "screens": len({look["screen"] for look in looks}),
        "violations": sum(look["violations"] for look in looks),
        "incomplete": sum(look["incomplete"] for look in looks),
        "rows": looks,
    }


def write_summary() -> Path:
    """Write the summary beside the looks; return where."""
    path = RESULTS / "axe.json"
    path.write_text(json.dumps(summary(), indent=1) + "\n")
    return path


def _row(look: dict[str, Any]) -> dict[str, Any]:
    said = {name: look.get(name) for name in ("screen", "size", "theme", "language")}
    return {
        **said,
        "violations": sum(len(rule["nodes"]) for rule in look["violations"]),
        "incomplete": sum(rule["nodes"] for rule in look["incomplete"]),
        "rules_passed": look["passed"],
    }


if __name__ == "__main__":
    sys.stdout.write(write_summary().read_text())

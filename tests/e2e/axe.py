"""What axe says of a screen, kept a file a look, and all of it in one: `test-results/axe.json`.

Where axe cannot tell a contrast (an edge drawn by a pseudo element, a bar that lies over a
scrolled row, a single sign) it is computed here, from the grounds that the text stands on. What
is too faint is a fault like any other; only what neither can tell stays "incomplete".

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
  const pot = document.createElement("canvas").getContext("2d", { willReadFrequently: true });
  const channels = (color) => {
    pot.clearRect(0, 0, 1, 1);
    pot.fillStyle = color;
    pot.fillRect(0, 0, 1, 1);
    return [...pot.getImageData(0, 0, 1, 1).data];
  };
  const over = ([r, g, b, a], [x, y, z]) =>
    [[r, x], [g, y], [b, z]].map(([top, under]) => (top * a + under * (255 - a)) / 255);
  const light = (rgb) => rgb.map((c) => c / 255)
    .map((c) => (c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4))
    .reduce((sum, c, i) => sum + c * [0.2126, 0.7152, 0.0722][i], 0);
  const isThin = (style) => style.content === "none" || channels(style.backgroundColor)[3] === 0
    || Math.min(parseFloat(style.width), parseFloat(style.height)) < 12;
  const around = (one) => (one ? [one, ...around(one.parentElement)] : []);
  // The contrast of a text with what lies under it; null where a picture or a wide part does.
  const contrastOf = (one) => {
    const grounds = around(one);
    const styles = grounds.map((each) => getComputedStyle(each));
    const last = styles.findIndex((s) => channels(s.backgroundColor)[3] === 255);
    const under = styles.slice(0, last < 0 ? undefined : last + 1);
    const parts = grounds.slice(0, under.length)
      .flatMap((each) => ["::before", "::after"].map((part) => getComputedStyle(each, part)));
    if (under.some((s) => s.backgroundImage !== "none") || !parts.every(isThin)) return null;
    const ground = under.map((s) => channels(s.backgroundColor)).reverse()
      .reduce((below, color) => over(color, below), [255, 255, 255]);
    const faded = styles.reduce((all, s) => all * Number(s.opacity), 1);
    const ink = channels(styles[0].color);
    const [a, b] = [light(over([...ink.slice(0, 3), ink[3] * faded], ground)), light(ground)];
    return (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
  };
  const least = (one) => {
    const { fontSize, fontWeight } = getComputedStyle(one);
    const size = parseFloat(fontSize);
    return size >= 24 || (size >= 18.66 && Number(fontWeight) >= 700) ? 3 : 4.5;
  };
  const measured = ({ target }) => {
    const one = document.querySelector(String(target));
    const contrast = one && contrastOf(one);
    return contrast === null ? null : { contrast, least: least(one) };
  };
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
  const isContrast = ({ id }) => id === "color-contrast";
  const open = incomplete.filter(isContrast).flatMap(({ nodes }) => nodes)
    .map((node) => ({ ...where(node), ...measured(node) }));
  const unsettled = open.filter(({ contrast }) => contrast === undefined);
  const computed = { id: "color-contrast", help: "computed from the grounds" };
  return {
    violations: violations.map(told),
    computed: open.filter(({ contrast }) => contrast !== undefined),
    incomplete: [
      ...incomplete.filter((rule) => !isContrast(rule)).map(told),
      ...(unsettled.length ? [{ ...computed, nodes: unsettled }] : []),
    ],
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
    found = page.evaluate(RUN, TAGS)
    LOOKS.mkdir(parents=True, exist_ok=True)
    name = f"{what}-{size}-{theme}".replace(" ", "-").replace("/", "-")
    kept = {"screen": what, "size": size, "theme": theme, **found}
    (LOOKS / f"{name}.json").write_text(json.dumps(kept, indent=1))
    return [
        f"{theme}: {rule['id']} at {node['target']}: {'; '.join(node['why'])}"
        for rule in found["violations"]
        for node in rule["nodes"]
    ] + [
        f"{theme}: contrast {node['contrast']:.2f} at {node['target']}, {node['html']}"
        for node in found["computed"]
        if node["contrast"] < node["least"]
    ]


def summary() -> dict[str, Any]:
    """Add up what was kept: every look, and the totals."""
    looks = [_row(json.loads(path.read_text())) for path in sorted(LOOKS.glob("*.json"))]
    return {
        "rules": TAGS,
        "looks": len(looks),
        "screens": len({look["screen"] for look in looks}),
        "violations": sum(look["violations"] for look in looks),
        "contrasts_computed": sum(look["contrasts_computed"] for look in looks),
        "lowest_contrast": min((look["lowest_contrast"] for look in looks), default=None),
        "incomplete": sum(look["incomplete"] for look in looks),
        "rows": looks,
    }


def write_summary() -> Path:
    """Write the summary beside the looks; return where."""
    path = RESULTS / "axe.json"
    path.write_text(json.dumps(summary(), indent=1) + "\n")
    return path


def _row(look: dict[str, Any]) -> dict[str, Any]:
    view = {name: look.get(name) for name in ("screen", "size", "theme", "language")}
    return {
        **view,
        "violations": sum(len(rule["nodes"]) for rule in look["violations"]),
        "contrasts_computed": len(look.get("computed", [])),
        "lowest_contrast": min((node["contrast"] for node in look.get("computed", [])), default=21),
        "incomplete": sum(len(rule["nodes"]) for rule in look["incomplete"]),
        "rules_passed": look["passed"],
    }


if __name__ == "__main__":
    sys.stdout.write(write_summary().read_text())

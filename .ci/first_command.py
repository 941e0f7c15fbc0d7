"""Type the README's first command as a stranger would, and look at what serves.

A fresh clone of HEAD, an empty environment, an empty home and cache, and a PATH
with Python and uv only: Node and Valkey must come along by themselves.
"""

import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import urllib.request
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
UV_COMMAND = ["uv", "run", "--no-dev", "manage.py", "up", "--json", "--port", "0"]
KEPT = ("UV_DEFAULT_INDEX", "UV_INDEX_URL")
SECOND_START_SHARE = 0.5  # of the first: a second start fetches and builds nothing


def main() -> int:
    """Start twice, time both, and fail unless the second is quick."""
    with tempfile.TemporaryDirectory() as folder:
        scene = Path(folder)
        subprocess.run(["git", "clone", "--quiet", str(ROOT), str(scene / "clone")], check=True)
        first = start_and_look(scene)
        second = start_and_look(scene)
    print(f"first start, everything fetched and built: {first:.1f} s")
    print(f"second start, to the first served page: {second:.1f} s")
    return 0 if second < SECOND_START_SHARE * first else 1


def start_and_look(scene: Path) -> float:
    """Start, open the page and sign in, stop; return the seconds to the page."""
    began = time.monotonic()
    running = subprocess.Popen(
        UV_COMMAND,
        cwd=scene / "clone",
        env=an_empty_environment(scene),
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        assert running.stdout is not None
        line = json.loads(running.stdout.readline())
        page = opened(line["login_url"])
        seconds = time.monotonic() - began
        assert '<script type="module"' in page, "the front end is not served"
    finally:
        running.send_signal(signal.SIGTERM)
        running.wait(timeout=30)
    return seconds


def opened(url: str) -> str:
    """Sign in by the link and return the page behind it."""
    browser = urllib.request.build_opener(urllib.request.HTTPCookieProcessor())
    with browser.open(url, timeout=30) as answer:
        return str(answer.read(), "utf-8")


def an_empty_environment(scene: Path) -> dict[str, str]:
    """Return HOME, and a PATH with python3 and uv; certificates as set up here."""
    programs = scene / "bin"
    if not programs.exists():
        programs.mkdir()
        (scene / "home").mkdir()
        for name, found in (("uv", shutil.which("uv")), ("python3", python_of_the_machine())):
            assert found, name
            (programs / name).symlink_to(found)
    kept = {name: os.environ[name] for name in KEPT if name in os.environ}
    return {"PATH": str(programs), "HOME": str(scene / "home"), **kept}


def python_of_the_machine() -> str:
    """Return the interpreter beneath our virtual environment."""
    return str(Path(sys.base_prefix) / "bin" / "python3")


if __name__ == "__main__":
    sys.exit(main())

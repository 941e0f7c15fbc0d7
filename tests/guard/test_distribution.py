"""What an agent installs: the distribution in `guard/`, alone in an empty environment."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tomllib
import zipfile
from pathlib import Path

import pytest

from missioncontrol.settings import VERSION

ROOT = Path(__file__).resolve().parents[2]
OWN = {"pyproject.toml", "README.md", "LICENSE"}
"""What stands in the folder for the distribution's sake, and is no part of the package."""

FRAMEWORKS = {"claude_agent_sdk", "crewai", "langchain", "litellm", "openai_agents"}
EVERY_MODULE = """
import importlib, json, pkgutil
import guard
from guard.errors import FrameworkMissing

missing = {}
for module in pkgutil.walk_packages(guard.__path__, "guard."):
    try:
        importlib.import_module(module.name)
    except FrameworkMissing as error:
        missing[module.name] = str(error)
print(json.dumps({"from": guard.__file__, "missing": missing}))
"""
WHAT_A_TURN_COSTS = """
import guard
from guard.pricing import price
from guard.turn import Usage

with guard.Session("alone", url="http://127.0.0.1:9", key="k", outbox=False, ask=False) as session:
    go = session.before("Bash", {"command": "make"}, usage={"input": 9}, model="gpt-4o-mini")
    session.after(go, result="done")
print(go.run, price(Usage(input=9), model="gpt-4o-mini", provider="openai"))
"""


def run(*command, check=True, **more):
    return subprocess.run(
        [str(part) for part in command],
        check=check,
        capture_output=True,
        text=True,
        timeout=300,
        stdin=subprocess.DEVNULL,
        **more,
    )


def uv(*command):
    program = os.environ.get("UV") or shutil.which("uv") or pytest.skip("there is no uv")
    return run(program, *command, cwd=ROOT)


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    out = tmp_path_factory.mktemp("wheels")
    uv("build", "--quiet", "--wheel", "--out-dir", out, "guard")
    return next(out.glob("*.whl"))


@pytest.fixture(scope="module")
def alone(wheel, tmp_path_factory):
    """Run a program of an environment that holds this distribution: `alone("guard", …)`."""
    home = tmp_path_factory.mktemp("agent")
    uv("venv", "--quiet", "--python", sys.executable, home / "venv")
    uv("pip", "install", "--quiet", "--python", home / "venv", wheel)
    outside = {"HOME": str(home), "PATH": os.environ["PATH"]}

    def start(program, *arguments, check=True):
        named = home / "venv" / "bin" / program
        return run(named, *arguments, check=check, cwd=home, env=outside)

    return start


def project(path):
    return tomllib.loads((ROOT / path / "pyproject.toml").read_text())["project"]


def test_it_requires_nothing_but_rapidfuzz():
    assert project("guard")["dependencies"] == ["rapidfuzz"]


def test_the_server_asks_for_the_guard_of_its_own_version():
    pinned = f"missioncontrol-guard[prices]=={project('guard')['version']}"

    assert pinned in project(".")["dependencies"]


def test_both_are_under_the_same_licence():
    assert (ROOT / "guard" / "LICENSE").read_text() == (ROOT / "LICENSE").read_text()


@pytest.mark.agents
@pytest.mark.parametrize("by", ["uv", "pip"])
def test_the_servers_wheel_requires_it_and_carries_none_of_it(by, tmp_path):
    if by == "uv":
        uv("build", "--quiet", "--wheel", "--out-dir", tmp_path, ".")
    else:  # which would look for our guard in a registry, if it were not told the folder
        run(sys.executable, "-m", "pip", "wheel", "--no-deps", "-w", tmp_path, ".", cwd=ROOT)
    packed = zipfile.ZipFile(next(tmp_path.glob("missioncontrol-*.whl")))

    about = packed.read(next(name for name in packed.namelist() if name.endswith("/METADATA")))
    where = f" @ {(ROOT / 'guard').as_uri()}" if by == "pip" else f"=={VERSION}"
    assert f"Requires-Dist: missioncontrol-guard[prices]{where}\n" in about.decode()
    assert not [name for name in packed.namelist() if name.startswith("guard/")]


@pytest.mark.agents
def test_its_wheel_holds_the_whole_folder(wheel):
    tracked = run("git", "ls-files", "-co", "--exclude-standard", "guard", cwd=ROOT).stdout.split()
    packed = zipfile.ZipFile(wheel).namelist()

    expected = {name for name in tracked if name.removeprefix("guard/") not in OWN}
    assert {name for name in packed if ".dist-info/" not in name} == expected


@pytest.mark.agents
def test_an_agent_gets_two_packages(alone):
    listing = "import importlib.metadata as m; print(*sorted(d.name for d in m.distributions()))"

    assert alone("python", "-c", listing).stdout.split() == ["RapidFuzz", "missioncontrol-guard"]


@pytest.mark.agents
def test_its_command_looks_through_a_recording(alone, tmp_path):
    turn = {"role": "tool", "tool": "Bash", "args": {"command": "make"}, "error": "No rule"}
    (tmp_path / "loop.jsonl").write_text("".join(f"{json.dumps(turn)}\n" for _ in range(8)))

    report = json.loads(alone("guard", "replay", "--json", tmp_path / "loop.jsonl").stdout)

    assert "replay" in alone("guard", "--help").stdout
    assert report["turns"] == 8
    assert report["alarms"]


@pytest.mark.agents
def test_every_module_can_be_imported_and_an_adapter_names_its_framework(alone):
    report = json.loads(alone("python", "-c", EVERY_MODULE).stdout)

    assert "site-packages" in report["from"]
    assert set(report["missing"]) == {f"guard.adapters.{name}" for name in FRAMEWORKS}


@pytest.mark.agents
def test_a_session_works_without_any_extra(alone):
    done = alone("python", "-c", WHAT_A_TURN_COSTS)

    assert done.stdout == "True None\n"
    assert "genai-prices is not installed" in done.stderr
    assert "Traceback" not in done.stderr

"""Three runs that show what Mission Control is for."""

from __future__ import annotations

import importlib.util
import json
import logging
import os
import shutil
import threading
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from guard import Session, Stopped
from guard.errors import ModelFailed
from guard.runtime import Agent, ChatModel, Workspace, run_agent, run_multi_agent
from guard.wire import Mode
from missioncontrol.demo.endpoint import LIBRARIAN, NPM_MINDED, REVIEWER, WRITER

PYTHON_PROJECT = {
    "pyproject.toml": (
        '[project]\nname = "tidepool"\nversion = "2.4.1"\n'
        'description = "Tide tables for people who swim"\nrequires-python = ">=3.11"\n'
    ),
    "README.md": "# tidepool\n\nWhen is the water deep enough? Ask tidepool.\n",
    "src/tidepool/__init__.py": '"""Tide tables for people who swim."""\n',
    "src/tidepool/tables.py": (
        '"""Heights by the hour."""\n\n\ndef height(hour: int) -> float:\n'
        "    return 2.0 + abs(12 - hour % 24) / 6\n"
    ),
    "tests/test_tables.py": "from tidepool.tables import height\n",
}

RELEASE = {
    # Two date formats, on which the two agents cannot agree.
    "CHANGES.txt": "2.4.1  03/04/2026  Fewer wrong tides\n2.4.0  2026-03-01  Tides by the hour\n",
    "README.md": "# tidepool\n\nThe writer writes the release notes, the reviewer checks them.\n",
}

# Modules of Python's standard library: some fifty real files with different content.
LIBRARY = """
    abc bisect calendar cmd code codeop colorsys configparser contextlib copy csv dataclasses
    difflib enum filecmp fileinput fnmatch fractions functools getpass gettext glob graphlib gzip
    heapq hmac inspect ipaddress linecache mimetypes netrc numbers pprint queue random sched
    secrets selectors shlex shutil statistics string tempfile textwrap timeit uuid wave zipapp
"""


def library() -> dict[str, str]:
    """Return the source of some modules of this Python."""
    sources: dict[str, str] = {}
    for name in LIBRARY.split():
        # Another Python may lack one, or have it in C.
        spec = importlib.util.find_spec(name)
        if spec and spec.origin and spec.origin.endswith(".py"):
            sources[f"lib/{name}.py"] = Path(spec.origin).read_text("utf-8")
    return sources


def make_workspace(root: Path, files: dict[str, str]) -> Workspace:
    """Write files into a folder of their own."""
    # Emptied first: what the last performance wrote would give the answer away.
    shutil.rmtree(root, ignore_errors=True)
    root.mkdir(parents=True)
    workspace = Workspace(root)
    for path, text in files.items():
        workspace.write_file(path, text)
    return workspace


logger = logging.getLogger("missioncontrol.demo")


@dataclass(frozen=True, slots=True, kw_only=True)
class Config:
    """The server's address, the key of each demo project, and the folder for files.

    `model_url` is a real OpenAI-compatible endpoint; None: the scripted one.
    """

    url: str
    projects: dict[str, str]
    directory: Path
    model_url: str | None = None
    model_name: str = "gpt-4o-mini"
    model_key: str = ""

    @classmethod
    def of_environment(cls) -> Self:
        """Read $MISSIONCONTROL_DEMO, a JSON object."""
        # From the environment: everybody could read the keys on a command line.
        given = json.loads(os.environ["MISSIONCONTROL_DEMO"])
        return cls(
            url=given["url"],
            projects=given["projects"],
            directory=Path(given["dir"]),
            model_url=given.get("model_url"),
            model_name=os.environ.get("MISSIONCONTROL_DEMO_MODEL") or "gpt-4o-mini",
            model_key=os.environ.get("OPENAI_API_KEY") or "",
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Scene:
    """A run in one of the demo projects, played again after a pause."""

    name: str
    goal: str
    files: dict[str, str]
    cast: dict[str, str]
    """Each agent's name and instructions."""
    mode: Mode = Mode.PAUSE
    pause_s: float


# By project.
SCENES: dict[str, Scene] = {
    # Two agents that hand one decision to each other, until a person makes it.
    "ping-pong": Scene(
        name="release notes",
        goal="Write the release notes of tidepool 2.4.1.",
        files=RELEASE,
        cast={"writer": WRITER, "reviewer": REVIEWER},
        pause_s=120,
    ),
    # An agent that looks for package.json in a Python repository, until it is corrected.
    "npm-minded": Scene(
        name="tidepool's version",
        goal="What version is this project?",
        files=PYTHON_PROJECT,
        cast={"npm-minded": NPM_MINDED},
        mode=Mode.AUTO,
        pause_s=180,
    ),
    # An agent at work, with nothing to complain about.
    "healthy": Scene(
        name="library tour",
        goal="Write down what each module of this library is for.",
        files=library(),
        cast={"librarian": LIBRARIAN},
        pause_s=30,
    ),
}


def play_all(config: Config, model: ChatModel) -> None:
    """Start every scene whose project has a key; they repeat for ever."""
    for project in SCENES:
        # A person may have deleted one of the demo's projects.
        if project in config.projects:
            threading.Thread(target=_repeat, args=(project, config, model), daemon=True).start()


def _repeat(project: str, config: Config, model: ChatModel) -> None:
    while True:
        try:
            logger.info("%s: %s", project, play(project, config, model))
        except (Stopped, ModelFailed) as ended:
            logger.info("%s: ended: %s", project, ended)
        except Exception:
            # The outermost loop of a scene: a failing one must not end the others.
            logger.exception("%s: broke", project)
        time.sleep(SCENES[project].pause_s)


def play(project: str, config: Config, model: ChatModel) -> str:
    """Play a project's scene once; return what its agents answer."""
    scene = SCENES[project]
    workspace = make_workspace(config.directory / project, scene.files)
    agents = [Agent(name=one, instructions=of, model=model) for one, of in scene.cast.items()]
    with Session(
        scene.name,
        url=config.url,
        key=config.projects[project],
        agent=project,
        goal=scene.goal,
        workspace=workspace.names(),
        mode=scene.mode,
        # In the demo's own folder, apart from what real agents still have to deliver.
        outbox=config.directory / "outbox",
    ) as session:
        if len(agents) > 1:
            return run_multi_agent(session, scene.goal, agents=agents, workspace=workspace)
        return run_agent(session, scene.goal, agent=agents[0], workspace=workspace)

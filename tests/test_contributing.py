"""What the pages for contributors tell to type, and point to, is there."""

import re
import shlex
import tomllib
from importlib.util import find_spec

import pytest
from django.core.management import get_commands

from tests.installations import ROOT

PAGES = ("README.md", "CONTRIBUTING.md", "AGENTS.md", "SECURITY.md")
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())
GROUPS = set(PROJECT["dependency-groups"])
MARKS = {mark.partition(":")[0] for mark in PROJECT["tool"]["pytest"]["ini_options"]["markers"]}
CI = (ROOT / ".ci/run").read_text()
STEPS = set(re.findall(r"^(\w+)\(\) [{(]", CI, re.MULTILINE))
PROGRAMS = {"guard", "manage.py", "pytest", "python", "ruff"}


def code_on(page):
    """Return its fenced lines and what stands between backticks."""
    text = (ROOT / page).read_text()
    fenced = [block for _, block in re.findall(r"```(sh)?\n(.*?)```", text, re.DOTALL)]
    lines = [line.strip() for block in fenced for line in block.splitlines()]
    return [*lines, *re.findall(r"`([^`\n]+)`", re.sub(r"```.*?```", "", text, flags=re.DOTALL))]


def commands(beginning):
    """Return every command that begins so, as its words, without comments."""
    lines = {code for page in PAGES for code in code_on(page) if code.startswith(beginning)}
    return [shlex.split(part, comments=True) for code in sorted(lines) for part in code.split("&&")]


def after(words, option):
    return [words[n + 1] for n, word in enumerate(words[:-1]) if word == option]


def program(words):
    """Return what `uv run` starts, and its arguments."""
    rest = words[2:]
    while rest[0].startswith("-"):
        rest = rest[2:] if rest[0] == "--group" else rest[1:]
    return rest[0], rest[1:]


UV_RUN = [words for words in commands("uv run ") if words[:2] == ["uv", "run"] and len(words) > 2]
PYTEST = [arguments for name, arguments in map(program, UV_RUN) if name == "pytest"]
PATHS = re.compile(r"(?:tests|guard|missioncontrol|frontend|docs|\.ci)/[\w./-]*")


def test_the_pages_contain_commands():
    assert len(UV_RUN) > 8
    assert len(PYTEST) > 4
    assert {"lint", "default_suite", "slow"} <= STEPS


@pytest.mark.parametrize("words", UV_RUN, ids=" ".join)
def test_a_command_names_a_program_and_groups_that_exist(words):
    name, arguments = program(words)

    assert name in PROGRAMS
    assert set(after(words, "--group")) <= GROUPS
    assert name != "manage.py" or arguments[0] in get_commands()
    assert name != "python" or find_spec(after(words, "-m")[0])


@pytest.mark.parametrize("arguments", PYTEST, ids=" ".join)
def test_marks_in_pytest_commands_exist(arguments):
    marks = set(re.findall(r"\w+", " ".join(after(arguments, "-m"))))

    assert marks - {"and", "or", "not"} <= MARKS


@pytest.mark.parametrize("words", commands(".ci/run"), ids=" ".join)
def test_a_named_ci_step_exists(words):
    assert set(words[1:]) <= STEPS


@pytest.mark.parametrize("page", PAGES)
def test_a_path_in_backticks_exists(page):
    named = {path for code in code_on(page) for path in PATHS.findall(code)}

    assert [path for path in named if not (ROOT / path).exists()] == []


@pytest.mark.parametrize("page", PAGES)
def test_a_link_has_an_existing_target(page):
    links = re.findall(r"\]\((?!https?:)([^)#]*)(?:#[^)]*)?\)", (ROOT / page).read_text())

    assert [link for link in links if not (ROOT / link).exists()] == []


@pytest.mark.parametrize("page", PAGES)
def test_a_linked_heading_exists(page):
    links = re.findall(r"\]\((?!https?:)([^)#]*)#([^)]+)\)", (ROOT / page).read_text())

    assert [link for link in links if link[1] not in headings_of(link[0] or page)] == []


def headings_of(page):
    """Return its headings as links name them."""
    titles = re.findall(r"^#+ (.+)$", (ROOT / page).read_text(), re.MULTILINE)
    return {re.sub(r"[^\w -]", "", title.lower()).replace(" ", "-") for title in titles}


def test_every_hook_before_a_commit_is_local():
    hooks = (ROOT / ".pre-commit-config.yaml").read_text()

    assert set(re.findall(r"repo: (\S+)", hooks)) == {"local"}
    assert set(re.findall(r"entry: \.ci/run (\w+)", hooks)) <= STEPS
    assert set(re.findall(r"--group (\S+)", hooks)) <= GROUPS


def test_every_mark_that_ci_runs_is_documented():
    assert {"slow", "faults", "agents", "screens", "https"} <= {
        mark for arguments in PYTEST for mark in re.findall(r"\w+", " ".join(arguments))
    }


def test_every_page_of_the_documentation_is_reached_from_the_readme():
    reached, waiting = set(), [ROOT / "README.md"]
    while waiting:
        page = waiting.pop()
        if page in reached:
            continue
        reached.add(page)
        links = re.findall(r"\]\(([^)#:]+\.md)", page.read_text())
        waiting.extend((page.parent / link).resolve() for link in links)

    assert set((ROOT / "docs").glob("*.md")) - reached == set()


@pytest.mark.parametrize("mark", ["faults", "agents", "screens", "https"])
def test_a_pass_with_named_paths_names_all_files_with_its_mark(mark):
    (named,) = re.findall(rf'suite \w+ -m [\w" ]*\b{mark}\b[^;/]*? (tests/[^;]*);', CI)
    paths = [ROOT / path for path in named.split()]
    sources = (ROOT / "tests").rglob("test_*.py")
    bear_it = [path for path in sources if f"pytest.mark.{mark}" in path.read_text()]

    assert bear_it
    assert [one for one in bear_it if not any(one.is_relative_to(path) for path in paths)] == []

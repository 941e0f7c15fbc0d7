"""What docs/architecture.md lists is what stands in the code."""

import re
import tomllib

import pytest
from django.conf import settings

from missioncontrol.celery import app
from tests.installations import ROOT

PAGE = (ROOT / "docs/architecture.md").read_text()
CONTRACTS = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"][
    "contracts"
]
(LAYERS,) = (one["layers"] for one in CONTRACTS if one.get("containers") == ["missioncontrol"])
ROOMS = sorted(
    name
    for layer in LAYERS
    for name in layer.split(" | ")
    if (ROOT / "missioncontrol" / name / "__init__.py").exists() and name != "sqlite"
)


def section(title):
    return PAGE.partition(f"## {title}\n")[2].partition("\n## ")[0]


def rows(text):
    """Return the cells of a table's rows, below its head."""
    lines = [line for line in text.splitlines() if line.startswith("|")][2:]
    return [[cell.strip() for cell in line.strip("|").split(" | ")] for line in lines]


def test_its_rooms_match_the_import_layers_in_order():
    listed = [
        set(re.findall(r"`(\w+)`", cells[0]))
        for cells in rows(section("Packages of `missioncontrol`"))
    ]

    assert listed == [set(layer.split(" | ")) for layer in LAYERS]


@pytest.mark.parametrize("room", ROOMS)
def test_a_room_says_where_to_begin(room):
    text = (ROOT / "missioncontrol" / room / "__init__.py").read_text()

    begin = text.partition("Begin with ")[2].partition("\n\n")[0]
    places = [place.partition(".")[0] for place in re.findall(r"`([\w.]+)`", begin)]
    folder = ROOT / "missioncontrol" / room
    assert places
    assert [
        p for p in places if not (folder / p).exists() and not (folder / f"{p}.py").exists()
    ] == []


def test_the_tasks_that_it_names_exist():
    app.loader.import_default_modules()
    known = {name.rpartition(".")[2] for name in app.tasks}
    does = {cells[0].partition(" ")[0]: cells[1] for cells in rows(section("Processes"))}

    assert set(re.findall(r"`(\w+)`", does["worker"])) <= known
    assert set(re.findall(r"`(\w+)`", does["beat"])) <= set(settings.CELERY_BEAT_SCHEDULE)


def test_the_files_that_it_names_exist():
    found = set(re.findall(r"`((?:\w+/)+\w+\.(?:py|ts))`", PAGE))
    paths = {path for path in found if "NAME" not in path}
    roots = [ROOT, ROOT / "missioncontrol", ROOT / "frontend/src"]

    assert paths
    assert [path for path in paths if not any((root / path).exists() for root in roots)] == []

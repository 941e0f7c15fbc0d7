"""An export is verified without the server, by one file that needs only `cryptography`."""

import json
import shutil
import subprocess
import sys

import pytest

from missioncontrol import proof
from missioncontrol.audit import anchors, erasing, signing
from missioncontrol.audit.anchors import anchor_heads
from missioncontrol.decisions import interventions
from missioncontrol.projects import rules
from tests.build import a_call, a_run, after, put

pytestmark = pytest.mark.django_db


@pytest.fixture
def told_run(project):
    run = a_run(project)
    put(run, a_call("ls"), a_call("naïve “quotes” \U0001f600"), a_call("pwd"))
    anchor_heads(at=after(60))
    rules.change_project(project.id, {"mode": "flag"}, by="ana", at=after(61))
    put(run, a_call("id"), at=after(62))
    anchor_heads(at=after(120))
    return run


@pytest.fixture
def export(told_run, as_person, owner, tmp_path):
    """The export as a person downloads it."""
    response = as_person(owner).get("/api/v1/audit/export/")
    path = tmp_path / "audit.jsonl"
    path.write_bytes(b"".join(response.streaming_content))
    return path


def lines_of(path):
    return [json.loads(line) for line in path.read_text().splitlines()]


def write(path, lines):
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))


def kinds(path, **asked):
    verification = proof.verify_export(path, trusted={signing.public_key()}, **asked)
    return [fault.kind for fault in verification.faults]


def test_the_export_is_oldest_first(export):
    ats = [line["at"] for line in lines_of(export)]

    assert ats == sorted(ats)
    assert len(set(ats)) > 1


def test_an_export_verifies(export, project):
    verification = proof.verify_export(export, trusted={signing.public_key()})

    assert verification.faults == []
    assert verification.rows == len(lines_of(export))
    assert verification.projects[str(project.id)].anchors == 2


def test_rows_of_the_same_moment_may_be_swapped(export):
    write(export, reversed(lines_of(export)))

    assert kinds(export) == []


@pytest.mark.parametrize(
    ("changes", "kind"),
    [
        ({"by": "olu"}, "changed"),
        ({"at": "2026-11-21T11:00:00Z"}, "changed"),
        ({"payload": {}}, "changed"),
        ({"payload": None, "salt": None}, "blanked"),
    ],
)
def test_a_changed_line_is_named(export, changes, kind):
    lines = lines_of(export)
    lines[2] |= changes
    write(export, lines)

    assert kinds(export) == [kind]


def test_a_missing_line_is_named(export):
    lines = lines_of(export)
    write(export, lines[:2] + lines[3:])

    assert kinds(export) == ["missing"]


def test_a_missing_run_is_named(export):
    write(export, [line for line in lines_of(export) if line["run"] is None])

    assert kinds(export) == ["run_missing"]


def test_the_file_of_heads_shows_that_the_end_is_missing(export, project):
    lines = lines_of(export)
    write(export, [line for line in lines if line["at"] < "2026-11-21T12:01:30Z"][:-1])
    assert kinds(export) == []

    assert kinds(export, heads=[anchors.heads_path(project.id)]) == ["older_copy"]


def test_a_key_that_is_not_trusted_is_named(export):
    verification = proof.verify_export(export, trusted={"00" * 32})

    assert {fault.kind for fault in verification.faults} == {"unsigned"}


def test_an_erasure_that_was_allowed_verifies(told_run, project, as_person, owner, tmp_path):
    interventions.report_end(
        told_run.id, "completed", projects=[project.id], by="agent", at=after(130)
    )
    erasing.erase_run(told_run.id, by="ana", reason="asked", at=after(140))
    response = as_person(owner).get("/api/v1/audit/export/")
    path = tmp_path / "erased.jsonl"
    path.write_bytes(b"".join(response.streaming_content))

    assert kinds(path) == []


def run_alone(tmp_path, *arguments):
    """Run the one file in a directory of its own, with nothing of ours to import."""
    script = shutil.copy(proof.__file__, tmp_path / "proof.py")
    command = [sys.executable, "-I", script, *map(str, arguments)]
    return subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)


def test_the_one_file_verifies_alone(export, project, tmp_path):
    asked = ("--key", signing.public_key(), "--heads", anchors.heads_path(project.id))

    done = run_alone(tmp_path, export, *asked)

    assert (done.returncode, done.stderr) == (0, "")
    assert "2 signed checkpoints" in done.stdout
    assert done.stdout.endswith(f"{len(lines_of(export))} rows: they hold\n")


def test_the_one_file_names_each_fault(export, tmp_path):
    lines = lines_of(export)
    lines[2] |= {"by": "olu"}
    write(export, lines)

    done = run_alone(tmp_path, export)

    assert done.returncode == 1
    assert "was changed: it does not fit its own hash" in done.stdout


def test_a_file_that_is_not_an_export_is_reported(tmp_path):
    path = tmp_path / "notes.txt"
    path.write_text("hello\n")

    done = run_alone(tmp_path, path)

    assert done.returncode == 2
    assert "cannot be read" in done.stderr


def test_the_one_file_imports_nothing_of_ours(tmp_path):
    script = shutil.copy(proof.__file__, tmp_path / "proof.py")
    code = (
        "import sys, runpy; runpy.run_path(sys.argv[1]);"
        "print([name for name in sys.modules if name.split('.')[0] in"
        " ('missioncontrol', 'django', 'guard', 'pydantic')])"
    )
    done = subprocess.run(
        [sys.executable, "-I", "-c", code, script], capture_output=True, text=True, check=True
    )

    assert done.stdout == "[]\n"

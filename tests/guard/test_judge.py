from __future__ import annotations

from dataclasses import replace

import pytest

from guard.engine import Engine
from guard.judge import Case, Verdict
from guard.judge.complaints import closest_path
from guard.judge.heuristics import rule
from guard.policy import Policy
from guard.turn import Turn
from tests.guard.build import a_call, a_message, a_proposal
from tests.guard.scenes import LOOPS

WORKSPACE = (
    "README.md",
    "app/__init__.py",
    "app/auth/token.py",
    "app/auth/users.py",
    "app/main.py",
    "pyproject.toml",
    "tests/test_auth.py",
)
MISSING = "File does not exist. Current working directory: /home/dev/project"


def ruling(turns: list[Turn], workspace=WORKSPACE, policy=None) -> Verdict:
    """Let the engine trip on the turns, and the judge rule on it."""
    engine = Engine(policy or Policy())
    for place, turn in enumerate(turns):
        trip = engine.observe(replace(turn, seq=place)).trip
    assert trip is not None
    evidence = tuple(turns[seq] for seq in trip.turns)
    return rule(Case(signal=trip, turns=evidence, workspace=workspace))


def on(turn: Turn, workspace=WORKSPACE) -> Verdict:
    return ruling([turn] * 3, workspace)


def test_the_closest_existing_file_is_named():
    verdict = on(a_call("Read", error=MISSING, file_path="/home/dev/project/app/auth/tokens.py"))

    assert verdict.loop
    assert verdict.judge == "local"
    assert verdict.fix == "The file is app/auth/token.py, not tokens.py. Read that one."
    assert "does not exist" in verdict.reason


def test_a_proposed_third_read_is_ruled_by_the_two_before():
    read = a_call("Read", error=MISSING, file_path="app/auth/tokens.py")
    verdict = ruling([read, read, a_proposal("Read", file_path="app/auth/tokens.py")])

    assert verdict.fix == "The file is app/auth/token.py, not tokens.py. Read that one."


@pytest.mark.parametrize(
    ("command", "error", "fix"),
    [
        (
            "cat package.json",
            "cat: package.json: No such file or directory",
            "The file is pyproject.toml, not package.json. Read that one.",
        ),
        (
            "python app/mian.py",
            "python: can't open file 'app/mian.py': [Errno 2] No such file or directory",
            "The file is app/main.py, not mian.py. Use that one.",
        ),
        (
            "node -e 1",
            "Error: ENOENT: no such file or directory, open 'readme.rst'",
            "The file is README.md, not readme.rst. Use that one.",
        ),
    ],
)
def test_a_command_on_a_missing_file_is_pointed_at_one_that_is_there(command, error, fix):
    assert on(a_call("Bash", error=error, command=command)).fix == fix


def test_the_right_name_in_the_wrong_place_is_told_by_its_place():
    verdict = on(a_call("Read", error=MISSING, file_path="src/auth/token.py"))

    assert verdict.fix == "The file is app/auth/token.py, not src/auth/token.py. Read that one."


def test_where_nothing_is_close_it_says_to_look():
    verdict = on(a_call("Read", error=MISSING, file_path="zebra.sql"))

    assert verdict.fix == "zebra.sql does not exist. List the files and read one that is there."


def test_without_a_listing_it_names_no_file():
    verdict = on(a_call("Read", error=MISSING, file_path="app/tokens.py"), workspace=())

    assert "app/" not in verdict.fix
    assert verdict.fix.startswith("tokens.py does not exist.")


def test_a_missing_module_is_pointed_at_its_file():
    error = "ModuleNotFoundError: No module named 'app.auth.tokens'"
    verdict = on(a_call("Bash", error=error, command="python -m app"))

    assert verdict.fix.startswith("There is no module app.auth.tokens.")
    assert "The file is app/auth/token.py" in verdict.fix


def test_a_module_of_nobodys_is_to_be_installed():
    error = "ModuleNotFoundError: No module named 'numpyy'"
    verdict = on(a_call("Bash", error=error, command="python x.py"))

    assert verdict.fix.startswith("There is no module numpyy")


def test_a_failing_command_is_quoted_with_its_first_error():
    error = "exit code 2\ncompiling\nerror: expected ';' before '}' token\nmake: *** failed"
    verdict = on(a_call("Bash", error=error, command="make"))

    assert "error: expected ';' before '}' token" in verdict.fix
    assert verdict.fix.startswith('"Bash make" fails every time')


def test_an_answer_it_has_is_to_be_used():
    verdict = on(a_call("Grep", "No matches found", pattern="login"))

    assert verdict.loop
    assert verdict.fix.startswith("You have this answer already")


def test_a_busy_service_is_to_be_given_time():
    busy = a_call("fetch", error="HTTP 429: too many requests", url="x")

    assert ruling([busy] * 8).fix == "Wait a minute before the next try."


def test_a_repeated_message_is_to_be_followed_by_a_step():
    assert "next step" in ruling([a_message("I am done.")] * 3).fix


def test_to_and_fro_is_to_be_decided():
    turns, _ = LOOPS["two agents to and fro"]

    assert "Decide" in ruling(turns).fix


def test_a_spent_budget_is_what_it_is():
    turns = [a_call("Bash", f"{n}", command=f"{n}") for n in range(3)]
    verdict = ruling(turns, policy=Policy.from_mapping({"budget": {"calls": 3}}))

    assert (verdict.loop, verdict.fix) == (True, None)


def loose_case(*turns: Turn) -> Case:
    """Put turns before the judge that the engine would not have tripped on."""
    engine = Engine()
    for _ in range(3):
        trip = engine.observe(a_call("Bash", error="boom", command="make")).trip
    assert trip is not None
    return Case(signal=trip, turns=turns, workspace=WORKSPACE)


@pytest.mark.parametrize(
    "turns",
    [
        [a_call("Bash", f"{n} failed, 9 passed", command="pytest") for n in (3, 2, 1)],
        [a_call("get_job_status", f"{n} % done", job=1) for n in (10, 40, 70)],
        [
            a_call("Read", f"The text {n}\nof page {n}, which tells of {n} alone", page=n)
            for n in "abc"
        ],
    ],
)
def test_what_moves_is_let_go(turns):
    verdict = rule(loose_case(*turns))

    assert not verdict.loop
    assert verdict.fix is None
    assert verdict.reason.endswith(".")


def test_two_counts_in_turns_are_no_progress():
    one = a_call("Bash", "3 failed, 1 passed", command="pytest a")
    other = a_call("Bash", "2 failed, 2 passed", command="pytest b")

    assert ruling([one, other, one, other]).loop


def test_the_same_case_gets_the_same_verdict():
    case = loose_case(*[a_call("Bash", error="boom", command="make")] * 3)

    assert rule(case) == rule(case)


def test_no_evidence_is_no_error():
    assert rule(loose_case()).loop


@pytest.mark.parametrize("text", ["", "\x00\ud800", "no such file '" * 5000, "a/" * 9000])
def test_hostile_evidence_is_no_error(text):
    turn = a_call("Read", error=f"{text} No such file or directory: '{text}'", file_path=text)

    verdict = rule(loose_case(turn, turn, turn))

    assert 0.0 <= verdict.confidence <= 1.0
    assert len(verdict.reason) < 1000


@pytest.mark.parametrize(
    ("wanted", "workspace", "found"),
    [
        ("app/auth/tokens.py", WORKSPACE, "app/auth/token.py"),
        ("./app/auth/user.py", WORKSPACE, "app/auth/users.py"),
        ("token.py", WORKSPACE, "app/auth/token.py"),
        ("/home/dev/project/app/auth/tokens.py", WORKSPACE, "app/auth/token.py"),
        ("app\\auth\\tokens.py", WORKSPACE, "app/auth/token.py"),
        ("package.json", WORKSPACE, "pyproject.toml"),
        ("package.json", ("setup.py", "x/package.json"), "x/package.json"),
        ("pyproject.toml", ("go.mod", "main.go"), "go.mod"),
        ("Cargo.toml", ("pom.xml",), "pom.xml"),
        ("yarn.lock", ("uv.lock",), "uv.lock"),
        ("tests/auth_test.py", WORKSPACE, "tests/test_auth.py"),
        ("app/main.py", WORKSPACE, None),
        ("zebra.sql", WORKSPACE, None),
        ("x.py", (), None),
        ("", WORKSPACE, None),
    ],
)
def test_the_file_that_was_meant_is_found(wanted, workspace, found):
    match = closest_path(wanted, workspace)

    assert (match.path if match else None) == found
    assert match is None or 0.0 <= match.similarity <= 1.0


@pytest.mark.parametrize(
    "error",
    [
        "FileNotFoundError: [Errno 2] No such file or directory: 'package.json'",
        "no such file: package.json",
        "package.json not found",
        "File package.json not found",
        "The path package.json does not exist",
        "Error: ENOENT: no such file or directory, open '/repo/package.json'",
        "Could not find file package.json",
        "File not found.",
    ],
)
def test_every_tools_way_to_say_missing_is_understood(error):
    fix = on(a_call("read_file", error=error, path="package.json")).fix

    assert fix == "The file is pyproject.toml, not package.json. Read that one."


def test_a_failed_edit_of_a_file_that_exists_is_no_missing_file():
    failing = a_call("Edit", error="String to replace not found in file.", path="app/main.py")

    assert on(failing).fix.startswith('"Edit app/main.py" fails every time')


def test_a_file_that_exists_is_looked_for_in_the_wrong_place():
    error = "cat: app/main.py: No such file or directory"
    verdict = on(a_call("Bash", error=error, command="cd x && cat app/main.py"))

    assert verdict.fix == "app/main.py is in the project. Give its path from the root."

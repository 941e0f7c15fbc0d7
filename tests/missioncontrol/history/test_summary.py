"""What a run did, in facts: asked, called, changed, tested, spent, why it stands."""

from datetime import timedelta
from decimal import Decimal

import pytest

from guard.turn import Role, Turn
from missioncontrol.history import summary
from tests.build import NOON, a_call, a_proposal, a_run, a_stuck_run, put
from tests.long_run import fill
from tests.missioncontrol.taps import tap

pytestmark = pytest.mark.django_db


@pytest.fixture
def read(owner, as_person):
    client = as_person(owner)

    def get(run):
        response = client.get(f"/api/v1/runs/{run.id}/summary/")
        assert response.status_code == 200, response.content
        return response.json()

    return get


def a_message(text, **more):
    return Turn(role=Role.USER, content=text, **more)


def edit(path, **more):
    args = {"file_path": path, "old_string": "a", "new_string": "b" * 9_000}
    return Turn(role=Role.ASSISTANT, tool="Edit", args=args, result="edited", **more)


def test_a_stranger_finds_nothing(project, stranger, as_person):
    run = a_run(project)

    assert as_person(stranger).get(f"/api/v1/runs/{run.id}/summary/").status_code == 404


def test_an_agents_key_does_not_read_it(project, as_agent):
    run = a_run(project)

    assert as_agent.get(f"/api/v1/runs/{run.id}/summary/").status_code == 403


def test_a_run_without_turns_has_its_goal_alone(project, read):
    answer = read(a_run(project, goal="Fix the login"))

    assert answer["asked"] == {"text": "Fix the login", "seq": None}
    assert (answer["whole"], answer["last_hour"], answer["last_asked"]) == (None, None, None)


def test_the_goal_is_linked_to_the_turn_that_says_it(project, read):
    run = a_run(project, goal="Fix the  login")
    put(run, a_message("Fix the login"), a_call(), a_message("And the tests"))

    answer = read(run)
    assert answer["asked"] == {"text": "Fix the login", "seq": 0}
    assert answer["last_asked"] == {"text": "And the tests", "seq": 2}


def test_without_a_goal_the_first_words_of_a_person_say_what_was_asked(project, read):
    run = a_run(project)
    put(run, a_call(), a_message("Fix the login " + "x" * 900))

    found = read(run)
    assert found["asked"]["seq"] == 1
    assert len(found["asked"]["text"]) == summary.MAX_QUOTE + 1
    assert found["last_asked"] is None


def test_calls_files_tests_and_commits_are_told_with_their_turns(project, read):
    run = a_run(project)
    put(
        run,
        edit("app/login.py"),
        a_call("pytest -q", result="2 failed, 1 passed"),
        a_call("ls", error="denied"),
        edit("app/login.py"),
        a_call("pytest -q", result="x\n" * 4_000 + "3 passed in 0.1s"),
        a_call("git commit -m 'Fix login'", result="[main 1f2e3d4] Fix login"),
        a_proposal("rm -r /"),
    )

    work = read(run)["whole"]
    assert {(one["kind"], one["count"], one["last_seq"]) for one in work["calls"]} == {
        ("test_run", 2, 4),
        ("file_edit", 2, 3),
        ("read", 1, 2),
        ("shell_exec", 1, 5),
    }
    assert [one["failed"] for one in work["calls"] if one["kind"] == "read"] == [1]
    assert work["files"] == [{"path": "app/login.py", "times": 2, "last_seq": 3}]
    assert work["tests"] == {
        "runs": 2,
        "failed": 1,
        "last_seq": 4,
        "last_failed": False,
        "failures": 0,
        "last_passed_seq": 4,
    }
    assert work["commits"] == [{"seq": 5, "text": "Fix login", "hash": "1f2e3d4"}]


def test_the_last_hour_is_told_apart(project, read):
    run = a_run(project)
    put(run, edit("old.py", cost_usd=Decimal(2)), at=NOON)
    put(run, edit("new.py", cost_usd=Decimal(1)), at=NOON + timedelta(hours=2))

    answer = read(run)
    assert [file["path"] for file in answer["whole"]["files"]] == ["new.py", "old.py"]
    assert [file["path"] for file in answer["last_hour"]["files"]] == ["new.py"]
    assert (answer["last_hour"]["from_seq"], answer["last_hour"]["cost_usd"]) == (1, "1")
    assert answer["last_ten_minutes"] is None


@pytest.mark.parametrize("wrong_by", [timedelta(hours=-3), timedelta(days=2)], ids=str)
def test_the_last_hour_goes_by_the_clock_that_the_turns_were_timed_by(project, read, wrong_by):
    run = a_run(project)
    for path, hours in (("old.py", 0), ("new.py", 2)):
        at = NOON + timedelta(hours=hours)
        put(run, edit(path, ts=at + wrong_by), at=at)

    assert [file["path"] for file in read(run)["last_hour"]["files"]] == ["new.py"]


def test_a_run_of_minutes_has_no_last_hour_of_its_own(project, read):
    run = a_run(project)
    put(run, edit("a.py"))

    assert (read(run)["last_hour"], read(run)["last_ten_minutes"]) == (None, None)


def test_of_a_run_younger_than_an_hour_the_last_ten_minutes_are_told_apart(project, read):
    run = a_run(project)
    put(run, edit("old.py"), at=NOON)
    put(run, edit("new.py"), at=NOON + timedelta(minutes=40))

    answer = read(run)
    assert answer["last_hour"] is None
    assert [file["path"] for file in answer["last_ten_minutes"]["files"]] == ["new.py"]
    assert answer["last_ten_minutes"]["from_seq"] == 1


def test_why_it_waits_names_the_last_turn_of_the_loop(project, read):
    run = a_stuck_run(project)

    why = read(run)["why"]
    assert why["kind"] == "exact_repeat"
    assert why["turn"] == run.meters.last_seq


def test_who_paused_it_and_when_that_ends_is_told_until_it_goes_on(project, read):
    run = a_run(project)
    put(run, a_call())
    assert read(run)["paused"] is None

    tap(run, "pause", at=NOON)

    assert read(run)["paused"] == {
        "by": "ana",
        "since": "2026-11-21T12:00:00Z",
        "until": "2026-11-21T13:00:00Z",
        "unanswered": "stop",
    }
    tap(run, "continue")
    assert read(run)["paused"] is None


def test_who_takes_a_message_back_meanwhile_has_not_paused_it(project, read):
    run = a_run(project)
    put(run, a_call())
    sent = tap(run, "inject", message="Mind the tests.", at=NOON)
    tap(run, "pause", at=NOON + timedelta(seconds=1))

    tap(run, "undo", undoes=sent.key, by="ben", at=NOON + timedelta(seconds=2))

    assert read(run)["paused"]["by"] == "ana"


def test_a_card_says_itself_why_its_run_waits(project, read):
    assert read(a_stuck_run(project))["paused"] is None


def test_of_a_long_run_all_calls_are_counted_and_its_end_read(project, read, monkeypatch):
    monkeypatch.setattr(summary, "DETAIL_TURNS", 100)
    run = a_run(project)
    fill(run.id, 5_000)
    run.refresh_from_db()

    work = read(run)["whole"]
    assert sum(one["count"] for one in work["calls"]) == 4_000
    assert work["details_from_seq"] == 4_900
    assert work["tests"]["runs"] == 20

"""A run's turns as the screen reads them: windows, matches, the series, hand-offs."""

import json

import pytest
from django.db import connection

from guard.turn import Role, Turn, Usage
from missioncontrol.runs.models import Turn as Row
from missioncontrol.runs.rows import MAX_TEXT
from tests.build import a_call, a_proposal, a_run, after, put
from tests.long_run import NEEDLE, fill

PARTS = ("turns/", "turns/0/", "turns/found/?q=x", "facets/", "series/", "hand-offs/", "moments/")


def a_message(text, agent, **more):
    return Turn(role=Role.ASSISTANT, content=text, agent=agent, **more)


@pytest.fixture
def read(owner, as_person):
    """Return a reader of one run's parts, as its owner."""
    client = as_person(owner)

    def get(run, part, status=200):
        response = client.get(f"/api/v1/runs/{run.id}/{part}")
        assert response.status_code == status, response.content
        return response.json()

    return get


def seqs(answer):
    return [turn["seq"] for turn in answer["results"]]


@pytest.mark.parametrize("part", PARTS)
def test_a_stranger_finds_nothing(part, project, stranger, as_person):
    run = a_run(project)
    put(run, a_call())

    assert as_person(stranger).get(f"/api/v1/runs/{run.id}/{part}").status_code == 404


@pytest.mark.parametrize("part", PARTS)
def test_an_agents_key_reads_none_of_it(part, project, as_agent):
    run = a_run(project)
    put(run, a_call())

    assert as_agent.get(f"/api/v1/runs/{run.id}/{part}").status_code == 403


# --- windows --------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("asked", "found"),
    [
        ("around=5&limit=4", [3, 4, 5, 6]),
        ("around=0&limit=4", [0, 1, 2, 3]),
        ("after_seq=7&limit=9", [8, 9]),
        ("before_seq=2&limit=9", [0, 1]),
        ("after_seq=2&before_seq=5", [3, 4]),
        ("seqs=7,1,4,400", [1, 4, 7]),
    ],
)
def test_a_window_of_turns_is_read(read, project, asked, found):
    run = a_run(project)
    put(run, *[a_call(f"ls {n}") for n in range(10)])

    assert seqs(read(run, f"turns/?{asked}")) == found


@pytest.mark.parametrize("asked", ["seqs=", "seqs=1,x", "seqs=-1", "seqs=" + ",".join("1" * 501)])
def test_an_invalid_window_is_refused(read, project, asked):
    read(a_run(project), f"turns/?{asked}", status=400)


def test_a_list_holds_the_beginning_of_a_long_text_and_says_so(read, project):
    run = a_run(project)
    put(run, a_call("x" * 100_000, result="r" * 1_000_000))

    (row,) = read(run, "turns/")["results"]

    assert (len(row["result"]), set(row["cut"])) == (MAX_TEXT, {"result", "args"})
    assert len(row["args"]["command"]) < 2000


def test_one_turn_is_read_in_full(read, project):
    run = a_run(project)
    put(run, a_call(result="r" * 1_000_000))

    row = read(run, "turns/0/")

    assert (len(row["result"]), row["cut"]) == (1_000_000, [])
    read(run, "turns/1/", status=404)


# --- what matches ---------------------------------------------------------------------


@pytest.fixture
def mixed(project):
    """A run of six turns: three calls, a text, a call with an error, a proposal."""
    run = a_run(project)
    put(
        run,
        a_call("ls", result="Straße.txt"),
        a_call("cat 100%_sure", agent="tester", result="nothing"),
        a_message("I found the answer: 42", "tester"),
        a_call("ls", result='a "quoted" name'),
        a_call("pytest", error="KeyError: 'Fixture'"),
        a_proposal('echo "hi"\n'),
    )
    Row.objects.filter(run=run, seq=4).update(detector="errors")
    return run


@pytest.mark.parametrize(
    ("asked", "ranges"),
    [
        ("", [[0, 5]]),
        ("agent=tester", [[1, 2]]),
        ("tool=text", [[2, 2]]),
        ("tool=Bash", [[0, 1], [3, 5]]),
        ("role=user", []),
        ("signal=errors", [[4, 4]]),
        ("flagged=1", [[4, 4]]),
        ("q=answer", [[2, 2]]),
        ("q=keyerror", [[4, 4]]),
        ("q=Stra%C3%9Fe", [[0, 0]]),
        ("q=%25_sure", [[1, 1]]),
        ("q=%22quoted%22", [[3, 3]]),
        ("q=echo+%22hi%22", [[5, 5]]),
        ("q=%0A", [[5, 5]]),
        ("q=bash&agent=tester", [[1, 1]]),
        ("q=nowhere", []),
    ],
)
def test_a_filter_numbers_the_turns_that_match(read, mixed, asked, ranges):
    found = read(mixed, f"turns/found/?{asked}")

    assert found["ranges"] == ranges
    assert found["count"] == sum(last - first + 1 for first, last in ranges)


def test_arguments_are_searched_as_they_were_written(read, project):
    run = a_run(project)
    put(run, a_call("echo Zürich 🚦"))

    assert read(run, "turns/found/?q=Z%C3%BCrich+%F0%9F%9A%A6")["count"] == 1


@pytest.mark.skipif(connection.vendor != "sqlite", reason="PostgreSQL keeps no JSON as a text")
def test_arguments_that_a_former_release_kept_in_ascii_are_found_too(read, project):
    run = a_run(project)
    put(run, a_call("echo Zürich"))
    with connection.cursor() as cursor:
        cursor.execute("UPDATE runs_turn SET args = %s", [json.dumps({"command": "echo Zürich"})])

    assert read(run, "turns/found/?q=Z%C3%BCrich")["count"] == 1


def test_a_search_for_too_much_is_refused(read, project):
    read(a_run(project), "turns/found/?q=" + "x" * 201, status=400)


def test_a_search_goes_backwards_in_steps_and_says_how_far(read, project, monkeypatch):
    run = a_run(project)
    fill(run.id, 12_000)
    monkeypatch.setattr("missioncontrol.runs.timeline.SEARCH_SECONDS", -1)

    newest = read(run, f"turns/found/?q={NEEDLE}")
    older = read(run, f"turns/found/?q={NEEDLE}&before_seq={newest['searched_from']}")

    assert (newest["searched_from"], newest["ranges"]) == (7_000, [[10_000, 10_000]])
    assert (older["searched_from"], older["ranges"]) == (2_000, [[5_000, 5_000]])


def test_kinds_of_turns_are_counted(read, mixed):
    facets = read(mixed, "facets/")

    assert facets["tools"] == [["Bash", 5], ["text", 1]]
    assert facets["agents"] == [["coder", 4], ["tester", 2]]
    assert facets["signals"] == [["errors", 1]]
    assert facets["turns"] == 6


# --- how it went ----------------------------------------------------------------------


def test_each_turn_of_a_short_run_is_a_point(read, project):
    run = a_run(project)
    usage = Usage(input=10, cache_read=20, cache_write_5m=5, output=3)
    put(run, a_call(usage=usage), a_call(error="no"))
    Row.objects.filter(run=run, seq=0).update(score=0.5, changed=True, cost_usd="0.25")

    first, second = read(run, "series/")["points"]

    assert (first["fresh"], first["cached"], first["output"], first["tokens"]) == (15, 20, 3, 38)
    assert (first["score"], first["changed"], first["cost_usd"]) == (0.5, True, "0.25")
    assert (second["score"], second["failures"], second["tokens"]) == (None, 1, 0)


def test_a_spike_among_many_turns_stays(read, project):
    run = a_run(project)
    fill(run.id, 3_000)
    Row.objects.filter(run=run, seq=1_234).update(score=0.99, usage={"output": 777_777})

    series = read(run, "series/?points=30")

    assert (len(series["points"]), series["turns_a_point"]) == (30, 100)
    (spike,) = [point for point in series["points"] if point["output"] == 777_777]
    assert (spike["from_seq"], spike["to_seq"], spike["score"]) == (1_200, 1_299, 0.99)


def test_a_stretch_knows_what_was_spent_before_it(read, project):
    run = a_run(project)
    fill(run.id, 1_000)

    series = read(run, "series/?from_seq=500&to_seq=599&points=10")

    assert (series["from_seq"], series["to_seq"], len(series["points"])) == (500, 599, 10)
    assert (series["cost_before_usd"], series["points"][0]["cost_usd"]) == ("0.2", "0.004")


@pytest.mark.parametrize("asked", ["points=0", "points=601", "points=many", "from_seq=x"])
def test_an_invalid_series_is_refused(read, project, asked):
    read(a_run(project), f"series/?{asked}", status=400)


def test_a_run_without_turns_has_no_points(read, project):
    assert read(a_run(project), "series/")["points"] == []


def test_a_moment_is_placed_at_the_first_turn_not_before_it(read, project):
    run = a_run(project)
    put(run, *[a_call(ts=after(60 * n)) for n in range(9)])

    asked = "&".join(f"at={after(s).isoformat().replace('+', '%2B')}" for s in (-5, 0, 61, 999))
    found = read(run, f"moments/?{asked}")["results"]

    assert [moment["seq"] for moment in found] == [0, 0, 2, 9]


def test_an_invalid_moment_is_refused(read, project):
    read(a_run(project), "moments/?at=yesterday", status=400)
    read(a_run(project), "moments/?" + "&".join(["at=2026-11-21"] * 101), status=400)


# --- who hands on ---------------------------------------------------------------------


def test_each_hand_off_shows_what_was_asked_and_what_was_new(read, project):
    run = a_run(project)
    put(
        run,
        a_message("Is the figure sourced?", "reviewer"),
        a_message("I look.", "researcher"),
        a_message("It needs its source.", "researcher"),
        Turn(role=Role.USER, content="Go on.", agent="reviewer"),
        a_message("Please confirm.", "analyst"),
    )
    Row.objects.filter(run=run, seq=1).update(changed=True)

    first, second = read(run, "hand-offs/")["results"]

    assert (first["seq"], first["giver"], first["taker"]) == (1, "reviewer", "researcher")
    assert first["asked"]["content"] == "Is the figure sourced?"
    assert (second["seq"], second["giver"], second["taker"]) == (4, "researcher", "analyst")
    assert (second["asked"]["content"], second["new_facts"]) == ("It needs its source.", 1)


def test_of_very_many_hand_offs_the_newest_are_shown(read, project):
    run = a_run(project)
    put(run, *[a_message(f"{n}?", "ab"[n % 2]) for n in range(7)])
    fill(run.id, 15_000)

    shown = read(run, "hand-offs/")

    assert (len(shown["results"]), shown["more"]) == (500, True)
    assert shown["results"][-1]["seq"] > 14_900

"""Two runs side by side: turns aligned along what both did, and where they part."""

from uuid import uuid4

import pytest
from hypothesis import given
from hypothesis import strategies as st

from guard.turn import Role, Turn
from missioncontrol.accounts.models import Membership
from missioncontrol.audit.erasing import BLANK_TURN
from missioncontrol.history import comparing
from missioncontrol.history.comparing import align
from missioncontrol.runs.models import RunMeters
from missioncontrol.runs.models import Turn as TurnRow
from tests.build import a_call, a_project, a_run, put
from tests.long_run import fill

ITEMS = st.lists(st.sampled_from("abcd"), max_size=9)


def longest_common(a, b):
    """The same by the textbook's table."""
    table = [[0] * (len(b) + 1) for _ in range(len(a) + 1)]
    for i, one in enumerate(a):
        for j, other in enumerate(b):
            longer = max(table[i][j + 1], table[i + 1][j])
            table[i + 1][j + 1] = table[i][j] + 1 if one == other else longer
    return table[-1][-1]


@given(ITEMS, ITEMS)
def test_an_alignment_has_every_item_once_in_order_and_as_many_pairs_as_there_can_be(a, b):
    pairs = align(a, b)

    both = [pair for pair in pairs if None not in pair]
    assert [pair.a for pair in pairs if pair.a is not None] == list(range(len(a)))
    assert [pair.b for pair in pairs if pair.b is not None] == list(range(len(b)))
    assert all(a[pair.a] == b[pair.b] for pair in both)
    assert len(both) == longest_common(a, b)


@pytest.fixture
def compared(owner, as_person, django_assert_max_num_queries):
    client = as_person(owner)

    def get(run, other):
        with django_assert_max_num_queries(12):
            response = client.get(f"/api/v1/runs/{run.id}/compare/?with={other.id}")
        assert response.status_code == 200, response.content
        return response.json()

    return get


def shown(stretches):
    return [
        (one["same"], [step["text"] for step in one["a"]], [step["text"] for step in one["b"]])
        for one in stretches
    ]


@pytest.mark.django_db
def test_two_runs_are_the_same_until_they_part_and_meet_again(project, compared):
    first, second = a_run(project), a_run(project)
    put(first, a_call("ls"), a_call("cat a.py"), a_call("pytest -q", error="1 failed"))
    put(second, a_call("ls"), a_call("grep -rn token ."), a_call("pytest -q", result="1 passed"))

    comparison = compared(first, second)

    assert shown(comparison["stretches"]) == [
        (True, ["Bash ls"], ["Bash ls"]),
        (False, ["Bash cat a.py"], ["Bash grep -rn token ."]),
        (True, ["Bash pytest -q"], ["Bash pytest -q"]),
    ]
    assert (comparison["same"], comparison["same_from_start"], comparison["more"]) == (2, 1, False)
    (last,) = comparison["stretches"][-1]["a"]
    assert (last["seq"], last["failed"]) == (2, True)
    assert comparison["stretches"][-1]["b"][0]["failed"] is False


@pytest.mark.django_db
def test_the_same_words_of_a_person_and_of_the_agent_are_not_one_step(project, compared):
    first, second = a_run(project), a_run(project)
    put(first, Turn(role=Role.USER, content="Fix the login"))
    put(second, Turn(role=Role.ASSISTANT, content="Fix the login"))

    assert compared(first, second)["same"] == 0


@pytest.mark.django_db
def test_a_run_without_turns_is_compared_too(project, compared):
    busy = a_run(project)
    put(busy, a_call("ls"))

    comparison = compared(a_run(project), busy)

    assert shown(comparison["stretches"]) == [(False, [], ["Bash ls"])]
    assert (comparison["read_a"], comparison["read_b"]) == (0, 1)


@pytest.mark.django_db
def test_turns_whose_words_were_erased_are_like_no_other(project, compared):
    first, second = a_run(project), a_run(project)
    for run in (first, second):
        put(run, a_call("ls"), a_call("ls"))
        TurnRow.objects.filter(run=run, seq=0).update(**BLANK_TURN)
        RunMeters.objects.filter(pk=run.pk).update(erased_seq=0)

    comparison = compared(first, second)

    assert [one["same"] for one in comparison["stretches"]] == [False, True]


@pytest.mark.django_db
def test_an_empty_error_is_none(project, compared):
    run = a_run(project)
    put(run, a_call("ls", error=""))

    [stretch] = compared(run, a_run(project))["stretches"]

    assert [step["failed"] for step in stretch["a"]] == [False]


@pytest.mark.django_db
def test_long_runs_are_compared_in_their_beginning_and_say_so(project, compared):
    first, second = a_run(project), a_run(project)
    for run in (first, second):
        fill(run.id, comparing.MAX_TURNS + 5)

    comparison = compared(first, second)

    assert (comparison["read_a"], comparison["read_b"]) == (
        comparing.MAX_TURNS,
        comparing.MAX_TURNS,
    )
    assert comparison["more"] is True


@pytest.mark.django_db
def test_only_a_run_of_the_same_project_is_set_beside_it(owner, as_person, project, stranger):
    run, foreign = a_run(project), a_run(a_project("elsewhere"))
    mine = a_project("mine")
    Membership.objects.create(project=mine, user=owner, role="owner")
    address = f"/api/v1/runs/{run.id}/compare/"

    def status(client, query):
        return client.get(f"{address}{query}").status_code

    assert status(as_person(owner), f"?with={foreign.id}") == 404
    assert status(as_person(owner), f"?with={a_run(mine).id}") == 404
    assert status(as_person(owner), f"?with={uuid4()}") == 404
    assert status(as_person(owner), "") == 400
    assert status(as_person(stranger), f"?with={run.id}") == 404

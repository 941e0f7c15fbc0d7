"""Search over runs, on whichever database the suite runs on."""

from datetime import timedelta

import pytest
from django.db import connection
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from guard.turn import Role, Turn
from missioncontrol.decisions import interventions
from missioncontrol.decisions.actions import Tap
from missioncontrol.history import tasks
from missioncontrol.history.language import Phrase, split_words
from missioncontrol.history.models import IndexedRun
from missioncontrol.history.search import spans_in
from missioncontrol.redaction import NO_REDACTION
from missioncontrol.runs.services import describe_run
from tests.build import NOON, a_call, a_proposal, a_run, a_stuck_run, put, report
from tests.examples import examples_for

pytestmark = pytest.mark.django_db


@pytest.fixture
def ask(as_person, owner):
    client = as_person(owner)

    def get(path="", **query):
        return client.get(f"/api/v1/runs/{path}", query)

    return get


@pytest.fixture
def names(ask):
    def found(q, **query):
        index_all()
        response = ask(q=q, **query)
        assert response.status_code == 200, response.content
        return {row["name"] for row in response.json()["results"]}

    return found


def index_all():
    while tasks.index_slice(at=NOON):
        pass


def a_message(text, **more):
    return Turn(role=Role.ASSISTANT, content=text, agent="writer", **more)


def test_words_are_found_in_calls_arguments_results_errors_and_texts(project, names):
    put(a_run(project, name="call"), a_call("alembic upgrade head"))
    put(a_run(project, name="result"), a_call(result="12 passed in 0.3s, coverage 88%"))
    put(a_run(project, name="error"), a_call(error="ModuleNotFoundError: app.tokens"))
    put(a_run(project, name="text"), a_message("I will look at the migrations"))

    assert names("alembic") == {"call"}
    assert names("coverage") == {"result"}
    assert names("app.tokens") == {"error"}
    assert names("migra") == {"text"}


def test_names_goals_and_reasons_are_found(project, names):
    a_run(project, name="fix-webhook-retries")
    a_run(project, name="other", goal="Translate the help pages to German")
    stuck = a_stuck_run(project, name="stuck")

    assert names("webhook") == {"fix-webhook-retries"}
    assert names('"help pages"') == {"other"}
    assert names(f'"{stuck.decisions.get().evidence["summary"]}"') == {"stuck"}


def test_what_a_person_wrote_to_the_agent_is_found(project, names, owner):
    run = a_stuck_run(project, name="told")
    tap = Tap(
        key="k",
        action="inject",
        decision=run.open_decision,
        version=run.version,
        message="Read conftest.py first",
    )
    interventions.intervene(run.id, tap, projects=[project.id], by="ana", at=NOON)

    assert names('"read conftest"') == {"told"}


def test_exact_words_stand_in_a_row(project, names):
    put(a_run(project, name="row"), a_message("the token has expired"))
    put(a_run(project, name="apart"), a_message("expired was the token that has it"))

    assert names('"token has expired"') == {"row"}
    assert names("token expired") == {"row", "apart"}


def test_several_words_may_stand_in_several_turns(project, names):
    run = a_run(project, name="both")
    put(run, a_message("first comes alpha"), a_message("then comes omega"))

    assert names("alpha omega") == {"both"}
    assert names("alpha -omega") == set()


def test_a_completed_turn_is_found_by_its_outcome(project, names):
    run = a_run(project, name="late")
    put(run, a_proposal("make all", key="k"))
    assert names("segfault") == set()

    put(run, a_call("make all", key="k", result="Segfault in linker"))

    assert names("segfault") == {"late"}


def test_a_run_that_was_renamed_is_found_by_its_new_name(project, names):
    run = a_run(project, name="run", key="claude-code:1")
    index_all()

    describe_run(run.id, name="Rename the ledger types", goal="", at=NOON, redaction=NO_REDACTION)

    assert names('"ledger types"') == {"Rename the ledger types"}


def test_no_secret_is_indexed(project, names):
    secret = "sk-ant-api03-" + "Zq9" * 30
    put(a_run(project, name="leaky"), a_call(f"curl -H 'x-api-key: {secret}'", result=secret))

    assert names(f'"{secret}"') == set()
    assert names("curl") == {"leaky"}


def test_tokens_narrow_what_is_found(project, names):
    run = a_run(project, name="dear", agent="coder")
    put(run, a_call("ls", cost_usd="2.50"), a_call("pwd", agent="helper"))
    report(run)
    put(a_run(project, name="cheap", agent="writer"), a_message("hello"))
    held = a_stuck_run(project, name="held")

    assert names("agent:coder -is:flagged") == {"dear"}
    assert names("agent:helper") == {"dear"}
    assert names("tool:bash") == {"dear", "held"}
    assert names("tool:Ba*") == {"dear", "held"}
    assert names("tool:B") == set()
    assert names("cost:>1") == {"dear"}
    assert names("cost:<1 -agent:coder") == {"cheap"}
    assert names("turns:2") == {"dear"}
    assert names(f"status:{held.status}") == {"held"}
    assert names("is:flagged") == {"held"}
    assert names("kind:exact_repeat,") == set()
    assert names("ended:yes") == set()
    assert names("since:2026-11-21 until:2026-11-21T12:00:01Z") == {"dear", "cheap", "held"}
    assert names("project:paym") == {"dear", "cheap", "held"}


def test_who_answered_is_a_token(project, names):
    run = a_stuck_run(project, name="ended")
    a_stuck_run(project, name="open")
    tap = Tap(key="k", action="terminate", decision=run.open_decision, version=run.version)
    interventions.intervene(run.id, tap, projects=[project.id], by="Ana Ruiz", at=NOON)

    assert names("by:ana") == {"ended"}
    assert names("by:person") == {"ended"}
    assert names("by:nobody") == set()


def test_an_answer_says_where_the_words_stand(project, ask):
    run = a_run(project)
    put(run, a_call("ls"), a_call("pytest", result="x" * 300 + " E   KeyError: 'tenant' in line 7"))
    index_all()

    (row,) = ask(q="tenant").json()["results"]

    match = row["match"]
    (begin, end), *_ = match["marks"]
    assert (match["turn"], match["field"]) == (1, "result")
    assert match["text"][begin:end] == "tenant"


def test_a_match_in_the_runs_name_names_no_turn(project, ask):
    a_run(project, name="fix-auth")
    index_all()

    (row,) = ask(q="auth").json()["results"]

    assert (row["match"]["turn"], row["match"]["text"]) == (None, "fix-auth")


def test_the_row_says_why_the_run_stands_where_it_stands(project, ask):
    run = a_stuck_run(project)
    tap = Tap(key="k", action="terminate", decision=run.open_decision, version=run.version)
    interventions.intervene(run.id, tap, projects=[project.id], by="Ana Ruiz", at=NOON)

    (row,) = ask().json()["results"]

    assert (row["why"]["by"], row["why"]["resolution"]) == ("Ana Ruiz", "terminate")
    assert row["why"]["summary"]
    assert row["match"] is None


def test_totals_follow_the_search(project, ask):
    report(a_run(project, name="dear"), a_call("ls", cost_usd="2.50"))
    report(a_run(project, name="cheap"), a_call("ls", cost_usd="0.25"))
    a_stuck_run(project, name="stuck")

    both, dear = ask("totals/").json(), ask("totals/", q="cost:>1").json()

    assert (both["runs"], both["cost_usd"], both["flagged"]) == (3, "2.75", 1)
    assert (dear["runs"], dear["cost_usd"], dear["flagged"]) == (1, "2.5", 0)


def test_loops_whose_cost_nobody_told_are_counted_apart(project, ask):
    a_stuck_run(project)
    told = a_stuck_run(project, name="told").decisions.get()
    told.evidence["cost_usd"] = "0.75"
    told.save(update_fields=["evidence"])

    totals = ask("totals/").json()

    assert (totals["loop_cost_usd"], totals["unpriced_loops"]) == ("0.75", 1)


def test_a_strangers_words_are_not_found(project, as_person, stranger):
    put(a_run(project), a_message("confidential"))
    index_all()

    found = as_person(stranger).get("/api/v1/runs/", {"q": "confidential"}).json()

    assert found["results"] == []
    assert (
        as_person(stranger).get("/api/v1/runs/totals/", {"q": "confidential"}).json()["runs"] == 0
    )


def test_words_go_with_their_run(project):
    run = a_run(project)
    put(run, a_message("unforgettable"))
    index_all()
    number = IndexedRun.objects.get(run=run).id

    run.delete()

    assert documents_of(number) == 0


def test_what_is_indexed_is_not_indexed_again(project):
    run = a_run(project)
    put(run, a_message("once"))
    index_all()

    assert tasks.count_unindexed_runs() == 0
    put(run, a_message("twice"))
    assert tasks.count_unindexed_runs() == 1


def test_of_two_who_index_one_run_the_later_is_void(project, names):
    run = a_run(project, name="raced")
    put(run, a_proposal("make", key="k"))
    run.refresh_from_db()
    slow = tasks._next_slices([run])
    put(run, a_call("make", key="k", result="finished"))
    index_all()

    tasks._store_slices(slow, at=NOON)

    assert names("finished") == {"raced"}


def test_a_long_run_is_indexed_in_slices_and_no_turn_is_left_out(project, names):
    run = a_run(project, name="long")
    put(run, *[a_message(f"word{n}") for n in range(tasks.OBSERVATION_BATCH * 2 + 5)])

    index_all()

    for n in (0, tasks.OBSERVATION_BATCH, tasks.OBSERVATION_BATCH * 2 + 4):
        assert names(f'"word{n}"') == {"long"}


def test_a_busy_run_does_not_keep_another_from_being_indexed(project):
    busy = a_run(project, name="busy")
    put(busy, *[a_message(f"word{n}") for n in range(tasks.OBSERVATION_BATCH * 3)])
    quiet = a_run(project, name="quiet")
    put(quiet, a_message("hush"))

    tasks.index_slice(at=NOON)
    tasks.index_slice(at=NOON + timedelta(seconds=1))

    assert IndexedRun.objects.get(run=quiet).obs == 1


@pytest.mark.parametrize(
    "q",
    [
        '"',
        "'",
        "a OR b",
        "NEAR(a b)",
        "a*",
        "*",
        "col:x",
        "^a",
        "a & !b",
        "a <-> b",
        "a:*",
        "\\",
        "%",
        "';drop table history_words;--",
        "\x00",
        "{a}",
        "(",
        ")",
        "-",
        "--",
        '""',
        "§",
        "a\u0301",
    ],
)
def test_no_sign_is_an_operator(q, project, ask):
    put(a_run(project), a_message("a b"))
    index_all()

    assert ask(q=q).status_code == 200
    assert ask("totals/", q=q).status_code == 200


@pytest.mark.parametrize("q", ["cost:much", "since:then", "x" * 1001, "status:gone"])
def test_a_line_that_cannot_be_read_is_told(q, ask):
    for path in ("", "totals/", "export/"):
        response = ask(path, q=q)

        assert (response.status_code, response.json()["code"]) == (400, "invalid_request")
        assert response.json()["field"] == "q"


def test_a_zone_that_is_none_is_refused(ask):
    assert ask(q="since:today", zone="Mars/Base").status_code == 400
    assert ask(q="since:today", zone="../../etc/passwd").status_code == 400
    assert ask(q="since:today", zone="Europe/Berlin").status_code == 200


@pytest.mark.slow
@settings(
    max_examples=examples_for(24), suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(text=st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=80))
@example(text="\U0001d54a \u2167 \u01c5")
@example(text="0\U0002f899")
def test_whatever_is_said_is_found_by_each_of_its_words_and_by_all_in_a_row(text, project, ask):
    run = a_run(project, name="r", key=None)
    put(run, a_message(f"x {text}"))
    index_all()

    every = split_words(text)
    for words in [*({(word,) for word in every}), tuple(every)]:
        found = ask(q=f'"{" ".join(words)}"').json()["results"]
        assert not words or str(run.id) in {row["id"] for row in found}


@given(st.text("ab .", max_size=30), st.lists(st.sampled_from("ab"), min_size=1, max_size=3))
def test_marks_are_where_the_words_stand(text, words):
    (term,) = [Phrase(words=tuple(words))]

    for begin, end in spans_in(text, [term]):
        assert tuple(split_words(text[begin:end])) == term.words


def test_a_page_stays_right_while_new_runs_arrive(project, as_person, owner):
    for n in range(5):
        a_run(project, name=f"run {n}")
    client = as_person(owner)
    first = client.get("/api/v1/runs/?limit=2&q=run").json()

    a_run(project, name="run new")
    second = client.get(first["next"]).json()

    seen = [row["name"] for row in (*first["results"], *second["results"])]
    assert seen == ["run 4", "run 3", "run 2", "run 1"]


def documents_of(number: int) -> int:
    column = "rowid" if connection.vendor == "sqlite" else "id"
    counted = f"SELECT count(*) FROM history_words WHERE {column} >> 32 = %s"  # noqa: S608
    with connection.cursor() as cursor:
        cursor.execute(counted, [number])
        return int(cursor.fetchone()[0])

"""What was stored becomes what we think and do."""

import fcntl
from decimal import Decimal
from pathlib import Path

import pytest
from django.db import connection

from guard.turn import Role, Turn, Usage
from missioncontrol.decisions import interventions
from missioncontrol.decisions.actions import Tap
from missioncontrol.decisions.models import Autofix, Decision, Message
from missioncontrol.decisions.rows import autofix_row
from missioncontrol.detection import engine_cache, judging, pipeline
from missioncontrol.runs.models import JournalRow, RunMeters
from missioncontrol.runs.models import Turn as TurnRow
from tests.build import NOON, a_call, a_proposal, a_run, a_stuck_run, after, put, report
from tests.missioncontrol.taps import tap

pytestmark = pytest.mark.django_db
MISSING = "File does not exist: src/app/tokens.py"


def test_the_third_identical_call_is_held_before_it_runs():
    run = a_stuck_run(mode="pause")

    decision = Decision.objects.get()
    assert run.status == "holding"
    assert decision.kind == "exact_repeat"
    assert decision.evidence["turns"] == [0, 1, 2]


def test_two_identical_calls_are_not_a_loop():
    run = a_run()

    report(run, a_call(error="x"))
    run = report(run, a_call(error="x"))

    assert (run.status, run.open_decision) == ("running", None)


def test_in_warn_it_is_journalled_and_goes_on():
    run = a_stuck_run(mode="warn")

    assert (run.status, run.open_decision) == ("running", None)
    raised = JournalRow.objects.get(type="detection.raised")
    assert '"outcome":"warned"' in raised.payload


def test_in_flag_a_card_opens_and_the_agent_goes_on():
    run = a_stuck_run(mode="flag")

    assert run.status == "running"
    assert Decision.objects.get().holds is False


def test_where_an_agent_cannot_be_held_a_card_opens_and_it_goes_on():
    run = a_stuck_run(capabilities={"hold": False})

    assert run.status == "running"
    assert Decision.objects.get().holds is False


def test_in_auto_the_judges_fix_is_injected_and_the_held_call_skipped():
    run = a_run(mode="auto", workspace=("src/app/token.py",))
    read = {"role": Role.ASSISTANT, "tool": "Read", "args": {"file_path": "src/app/tokens.py"}}
    report(run, Turn(key="1", error=MISSING, **read))
    report(run, Turn(key="2", error=MISSING, **read))
    run = report(run, Turn(key="3", phase="proposed", **read))
    assert run.status == "holding"

    judging.judge_card(run.open_decision, at=NOON)

    run.refresh_from_db()
    assert run.status == "running"
    assert "src/app/token.py" in Message.objects.get().text
    assert TurnRow.objects.get(key="3").skipped
    assert Decision.objects.get().resolution == "autofix"


def test_an_autofix_names_the_turn_that_it_answered():
    run = a_run(mode="auto", workspace=("src/app/token.py",))
    read = {"role": Role.ASSISTANT, "tool": "Read", "args": {"file_path": "src/app/tokens.py"}}
    for key in "12":
        report(run, Turn(key=key, error=MISSING, **read))
    run = report(run, Turn(key="3", phase="proposed", **read))
    judging.judge_card(run.open_decision, at=NOON)

    fix = Autofix.objects.get()

    assert autofix_row(fix).seq == TurnRow.objects.get(key="3").seq


def test_an_autofix_that_is_followed_by_news_has_recovered():
    run = a_run(mode="auto", workspace=("src/app/token.py",))
    read = {"role": Role.ASSISTANT, "tool": "Read", "args": {"file_path": "src/app/tokens.py"}}
    for key in "12":
        report(run, Turn(key=key, error=MISSING, **read))
    run = report(run, Turn(key="3", phase="proposed", **read))
    judging.judge_card(run.open_decision, at=NOON)

    for number in range(5):
        report(run, a_call(f"cat {number}", result=f"quite new line {number}"))

    assert Autofix.objects.get().recovered is True


def test_an_autofix_that_is_followed_by_the_same_loop_holds_for_a_person():
    run = a_run(mode="auto", workspace=("src/app/token.py",))
    read = {"role": Role.ASSISTANT, "tool": "Read", "args": {"file_path": "src/app/tokens.py"}}
    for key in "12":
        report(run, Turn(key=key, error=MISSING, **read))
    run = report(run, Turn(key="3", phase="proposed", **read))
    judging.judge_card(run.open_decision, at=NOON)

    for key in "45":
        report(run, Turn(key=key, error=MISSING, **read))
    run = report(run, Turn(key="6", phase="proposed", **read))
    judging.judge_card(run.open_decision, at=NOON)

    run.refresh_from_db()
    assert Autofix.objects.get().recovered is False
    assert (run.status, Decision.objects.latest("id").status) == ("holding", "open")


def test_it_does_nothing_twice_when_called_twice():
    run = a_run()
    put(run, a_call(error="x"), a_call(error="x"), a_proposal())

    pipeline.detect([run.id], at=NOON)
    before = JournalRow.objects.count()
    pipeline.detect([run.id], at=NOON)

    assert JournalRow.objects.count() == before
    assert Decision.objects.count() == 1


@pytest.mark.parametrize(
    "rules", [{"detectors": ["ralph"]}, {"agent": {"coder": {"detectors": ["ralph"]}}}], ids=str
)
def test_a_rule_that_looks_at_run_time_leaves_out_the_time_in_a_hold(rules):
    run = report(a_run(policy=rules), *[a_call(f"step {n}") for n in range(76)])
    RunMeters.objects.update(held_seconds=8 * 3600)

    run = report(run, a_call("go on"), at=after(8 * 3600))

    assert run.status == "running"


@pytest.fixture
def a_person_waits(db):
    """Somebody tapped, and waits for the turn to write that this test's transaction has."""
    if connection.vendor != "sqlite":
        pytest.skip("PostgreSQL locks rows: nobody waits for all that is judged")
    with Path(f"{connection.settings_dict['NAME']}-people").open("w") as announced:
        fcntl.flock(announced, fcntl.LOCK_SH)
        yield


@pytest.mark.usefixtures("a_person_waits")
def test_where_a_person_waits_one_run_is_judged_and_the_others_are_left():
    runs = [a_run() for _ in range(3)]
    for run in runs:
        put(run, a_call("ls"))

    detected = pipeline.detect([run.id for run in runs], at=NOON)

    assert (len(detected.control_states), len(detected.left)) == (1, 2)
    assert RunMeters.objects.filter(detected_obs=1).count() == 1


@pytest.mark.usefixtures("a_person_waits")
def test_where_a_person_waits_the_runs_of_a_tree_stay_together(project):
    lead = a_run(project)
    tree = [lead, *(a_run(project, parent=lead.id) for _ in range(2))]
    for run in tree:
        put(run, a_call("ls"))

    detected = pipeline.detect([run.id for run in tree], at=NOON)

    assert (len(detected.control_states), detected.left) == (3, set())


def test_a_users_turn_starts_the_count_afresh():
    run = a_run()
    report(run, a_call(error="x"), a_call(error="x"))
    report(run, Turn(role=Role.USER, content="try again please"))

    run = report(run, a_proposal())

    assert run.open_decision is None


def test_it_counts_a_model_call_once_though_two_turns_carry_it():
    run = a_run()
    usage = Usage(input=1200, cache_write_5m=300, cache_read=9000, output=42)
    fields = {"usage": usage, "call_id": "msg_1", "model": "claude-sonnet-4-5"}

    run = report(run, a_call("ls", **fields), a_call("pwd", **fields))

    assert run.meters.cost_usd == Decimal("0.008055")
    assert run.meters.cache_read_tokens == 9000


def test_an_unknown_model_is_unpriced_and_never_free():
    run = report(a_run(), a_call(usage=Usage(input=10), model="house-model-1"))

    assert (run.meters.unpriced_calls, run.meters.cost_usd) == (1, 0)
    assert TurnRow.objects.get().cost_usd is None


def test_a_budget_that_is_reached_holds_the_agent():
    run = a_run(budget={"calls": 2})

    run = report(run, a_call("ls"), a_call("pwd"))

    assert run.status == "holding"
    assert Decision.objects.get().kind == "budget"
    assert JournalRow.objects.filter(type="budget.crossed").count() == 1


def test_a_budget_holds_in_auto_too():
    run = report(a_run(budget={"turns": 1}, mode="auto"), a_call("ls"))

    assert run.status == "holding"


def test_two_agents_that_hand_one_matter_back_and_forth_are_held():
    run = a_run(mode="pause")
    ask = {"role": Role.ASSISTANT, "agent": "planner", "content": "Please review the plan."}
    back = {"role": Role.ASSISTANT, "agent": "critic", "content": "Rejected, plan it again."}

    for turn in (ask, back, ask, back):
        run = report(run, Turn(**turn))

    assert run.status == "holding"
    assert Decision.objects.get().kind == "ping_pong"


def test_a_run_keeps_its_highest_stuck_score_and_the_turn_of_it():
    run = a_run(mode="warn")

    run = report(run, a_call(error="x"))
    assert (run.meters.highest_score, run.meters.highest_score_seq) == (0.0, 0)
    run = report(run, a_call(error="x"))
    high = run.meters.highest_score
    run = report(run, a_call("make", result="built in 4 s: 12 objects, all of them new"))

    assert 0 < high < 1
    assert (run.meters.highest_score, run.meters.highest_score_seq) == (high, 1)


def test_the_tape_has_one_point_a_turn():
    run = a_run()

    report(run, a_proposal(key="a"))
    run = report(run, a_call(key="a", result="fine"), a_call("ls"))

    assert (len(run.meters.tape), run.meters.judged_turns) == (2, 2)


def test_a_turn_on_which_the_engine_fails_is_skipped(caplog):
    class Broken:
        def observe(self, turn, *, spent):
            raise ZeroDivisionError

    run = report(a_run(), a_call("ls"))
    engine_cache.ENGINES[run.id].engine = Broken()

    run = report(run, a_call("pwd"))
    assert run.meters.detected_obs == run.meters.last_obs
    assert "the engine failed on turn 1" in caplog.text

    run = report(run, a_call(error="x"), a_call(error="x"), a_proposal())
    assert run.open_decision is not None


def test_in_warn_a_crossed_budget_is_notified_once():
    run = a_run(budget={"calls": 1}, mode="warn")

    report(run, a_call("ls"))
    report(run, a_call("pwd"))
    report(run, a_call("id"))

    assert JournalRow.objects.filter(type="budget.crossed").count() == 1


def test_a_persons_pause_is_not_lifted_by_a_loop_that_shows_meanwhile():
    run = report(a_run(mode="auto"), a_call(error="x"), a_call(error="x"))
    interventions.intervene(
        run.id, Tap(key="p", action="pause"), projects=[run.project_id], by="ana", at=NOON
    )

    run = report(run, a_call(error="x"))

    assert (run.status, run.open_decision) == ("holding", None)


def test_turns_stored_before_an_answer_open_no_new_card():
    run = report(a_run(), a_call(error="x"), a_call(error="x"))
    put(run, a_proposal())
    tap(run, "continue")

    pipeline.detect([run.id], at=NOON)

    run.refresh_from_db()
    assert run.open_decision is None


def test_usage_without_a_call_id_is_counted_once_for_a_turn():
    run, usage = a_run(), Usage(input=100)

    report(run, a_proposal(key="a", usage=usage, model="m"))
    run = report(run, a_call(key="a", model="m"))

    assert run.meters.input_tokens == 100


def test_the_policys_own_ceilings_stand_beside_the_runs():
    run = a_run(policy={"budget": {"usd": "5", "calls": 30}}, budget={"calls": 50})

    budget = engine_cache.policy_of(run).budget

    assert (budget.usd, budget.calls) == (Decimal(5), 50)

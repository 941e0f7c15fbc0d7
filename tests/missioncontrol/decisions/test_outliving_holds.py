"""A hold outlives the session: whoever held it, however it ended, however it came back."""

from datetime import timedelta

import pytest

from missioncontrol.decisions import deadlines, interventions, sessions, terminal_choices
from missioncontrol.decisions.directives import make_directive, read_control_state
from missioncontrol.decisions.models import Decision
from missioncontrol.decisions.terminal_choices import LateChoice
from missioncontrol.detection import engine_cache, pipeline
from missioncontrol.errors import NoSuchMove
from missioncontrol.runs.models import Run, RunMeters
from tests.build import a_call, a_proposal, a_run, a_stuck_run, after, put, report
from tests.missioncontrol.taps import tap

pytestmark = pytest.mark.django_db

LATER = after(31 * 60)


def held_by_a_person(project):
    run = report(a_run(project, key="claude-code:1"), a_call("ls", result="one"))
    tap(run, "pause")
    return run


def held_by_a_card(project):
    return a_stuck_run(project, key="claude-code:1")


def held_by_a_budget(project):
    run = a_run(project, key="claude-code:1", budget={"calls": 1})
    return report(report(run, a_call("ls", result="one")), a_proposal("make"))


def held_by_both(project):
    run = held_by_a_card(project)
    tap(run, "pause")
    return run


def says_goodbye(run):
    sessions.end_session(run.id, at=after(60))


def fails(run):
    sessions.end_session(run.id, at=after(60), failed=True)


def reports(status):
    def end(run):
        interventions.report_end(
            run.id, status, projects=[run.project_id], by="agent", at=after(60)
        )

    return end


def falls_silent(run):
    deadlines.lose_silent_runs(at=LATER, listening_since=after(0))


def speaks(run):
    put(run, a_proposal("make"), at=LATER)
    return run


def opens_again(run):
    return speaks(a_run(run.project, key=run.key))


def meets_another_worker(run):
    engine_cache.ENGINES.pop(run.id, None)
    return speaks(run)


def is_resumed_as_another(run):
    return speaks(a_run(run.project, key="claude-code:2", parent=run.id, relation="resumed"))


HOLDERS = [held_by_a_person, held_by_a_card, held_by_a_budget, held_by_both]
ENDS = [says_goodbye, fails, reports("completed"), reports("failed"), falls_silent]
RETURNS = [speaks, opens_again, meets_another_worker, is_resumed_as_another]


def asked(run):
    return make_directive(read_control_state(run.id), asked_seq=run.meters.last_seq).action


@pytest.mark.parametrize("come_back", RETURNS)
@pytest.mark.parametrize("end", ENDS)
@pytest.mark.parametrize("hold", HOLDERS)
def test_a_session_that_was_held_is_held_at_its_next_call(project, hold, end, come_back):
    run = hold(project)
    end(run)
    run.refresh_from_db()
    assert run.status in {"completed", "failed", "lost"}

    back = come_back(run)

    assert asked(back) == "hold"
    pipeline.detect([back.id], at=LATER)
    back.refresh_from_db()
    assert (asked(back), back.status) == ("hold", "holding")
    assert back.hold.expires_at == LATER + timedelta(hours=1)


@pytest.mark.parametrize("hold", HOLDERS)
def test_a_person_can_release_a_returned_session(project, hold):
    run = hold(project)
    says_goodbye(run)
    pipeline.detect([speaks(run).id], at=LATER)

    tap(run, "terminate" if hold is held_by_a_budget else "continue")

    assert asked(run) == ("stop" if hold is held_by_a_budget else "proceed")


@pytest.mark.parametrize("hold", [held_by_a_card, held_by_a_budget, held_by_both])
def test_its_card_opens_again_on_the_same_trouble(project, hold):
    run = hold(project)
    before = Decision.objects.get()
    says_goodbye(run)

    run = report(run, a_proposal("make"), at=LATER)

    card = Decision.objects.get(pk=run.open_decision)
    assert (card.kind, card.signal, card.holds) == (before.kind, before.signal, True)
    assert (card.verdict, card.status) == (before.verdict, "open")
    assert card.expires_at == run.hold.expires_at


def test_the_hold_limit_counts_from_the_sessions_return(project):
    project.unanswered = "proceed"
    project.save()
    run = held_by_a_card(project)
    says_goodbye(run)
    run = report(run, a_proposal("make"), at=LATER)

    deadlines.expire_unanswered_holds(at=LATER + timedelta(minutes=59))
    assert asked(run) == "hold"
    deadlines.expire_unanswered_holds(at=LATER + timedelta(minutes=60))
    assert asked(run) == "proceed"


def test_a_heartbeat_brings_a_lost_run_back_into_its_hold(project):
    run = held_by_a_card(project)
    falls_silent(run)
    RunMeters.objects.filter(pk=run.pk).update(presence="gone")

    sessions.record_heartbeat(run.id, witness="w", for_s=30, at=LATER)

    run.refresh_from_db()
    assert (run.status, run.open_decision is not None, asked(run)) == ("holding", True, "hold")
    assert report(run, a_proposal("make"), at=LATER).status == "holding"


def test_reporting_the_end_does_not_release_a_waiting_call():
    run = a_stuck_run()

    reports("completed")(run)

    assert asked(run) == "hold"


def test_a_person_can_release_a_session_before_it_returns(project):
    run = held_by_a_person(project)
    says_goodbye(run)

    tap(run, "continue")

    assert asked(run) == "proceed"
    assert report(run, a_proposal("make"), at=LATER).status == "running"


@pytest.mark.parametrize("answer", [{"action": "pause"}, {"action": "inject", "message": "Stop."}])
def test_what_needs_a_session_is_refused_after_its_end_though_its_hold_stands(project, answer):
    run = held_by_a_person(project)
    says_goodbye(run)

    with pytest.raises(NoSuchMove):
        tap(run, **answer)


def test_a_run_released_before_its_end_returns_unheld(project):
    run = held_by_a_card(project)
    tap(run, "continue")
    says_goodbye(run)

    assert report(run, a_proposal("make"), at=LATER).status == "running"
    says_goodbye(run)
    with pytest.raises(NoSuchMove):
        tap(run, "continue")


def test_a_hold_that_was_ended_twice_still_stands(project):
    run = held_by_a_person(project)
    says_goodbye(run)
    speaks(run)
    says_goodbye(run)

    assert asked(speaks(run)) == "hold"


def test_a_terminated_run_stays_terminated_whoever_held_it(project):
    run = held_by_a_card(project)
    says_goodbye(run)
    tap(run, "terminate")

    assert asked(speaks(run)) == "stop"


def test_a_choice_at_the_terminal_does_not_lift_a_hold_that_outlived_the_session(project):
    run = held_by_a_card(project)
    says_goodbye(run)
    call = run.turn_rows.get(seq=run.meters.last_seq).key
    run = report(run, a_proposal("make"), at=LATER)

    choice = LateChoice(key="c", action="continue", turn=call)
    terminal_choices.record_choice(run.id, choice, project=project.id, at=LATER)

    assert asked(run) == "hold"


def test_time_away_does_not_count_as_run_time(project):
    run = held_by_a_person(project)
    says_goodbye(run)

    report(run, a_proposal("make"), at=LATER)
    tap(run, "continue", at=LATER)

    assert Run.objects.get(pk=run.pk).meters.held_seconds == 31 * 60


def test_a_resumed_run_that_cannot_be_held_is_not_held(project):
    run = held_by_a_person(project)
    says_goodbye(run)

    other = a_run(
        project, key="x:2", parent=run.id, relation="resumed", capabilities={"hold": False}
    )

    assert asked(speaks(other)) == "proceed"


def test_child_runs_are_not_held_with_their_parent(project):
    run = held_by_a_person(project)

    assert asked(speaks(a_run(project, key="x:2", parent=run.id))) == "proceed"


def test_whatever_a_held_agent_still_reports_its_hold_lasts_no_longer():
    run = a_stuck_run()
    limit = run.hold.expires_at

    run = report(run, a_proposal("ls"), at=after(60))

    assert (run.status, run.hold.expires_at) == ("holding", limit)

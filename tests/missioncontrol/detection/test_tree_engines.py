"""Loops that go round over linked runs are seen; work side by side is left alone."""

import json

import pytest

from guard.policy import Policy, Repeat
from guard.turn import Role, Turn
from missioncontrol.accounts.models import Project
from missioncontrol.costs import counting, trees
from missioncontrol.decisions import interventions
from missioncontrol.decisions.models import Decision
from missioncontrol.detection import engine_cache, judging, pipeline, tree_engines
from missioncontrol.detection.tree_engines import MAX_RUNS, _engines
from missioncontrol.runs.models import JournalRow, Run
from tests.build import NOON, a_call, a_proposal, a_run, put, report
from tests.missioncontrol.taps import open_card_of, tap

pytestmark = pytest.mark.django_db

FAILURE = "ModuleNotFoundError: no module 'app.tokens'"


@pytest.fixture(autouse=True)
def _fresh_processes():
    yield
    _engines.clear()
    engine_cache.ENGINES.clear()


def a_tree(project, *names, **parents):
    lead = a_run(project, name="lead", **parents)
    return lead, *(a_run(project, name=name, parent=lead.id, agent=name) for name in names)


def says(agent, text):
    return Turn(role=Role.ASSISTANT, agent=agent, content=text)


def a_worker(project, lead, n, *turns, ends=True):
    """Open a child, let it work, and end it."""
    child = a_run(project, name=f"worker {n}", agent="worker", parent=lead.id)
    for turn in turns:
        child = report(child, turn)
    if ends and child.status == "running":
        interventions.report_end(child.id, "failed", projects=[project.id], by="agent", at=NOON)
        child.refresh_from_db()
    return child


def fails():
    return a_call("pytest -q", agent="worker", error=FAILURE)


def reads(path):
    return a_call(f"cat {path}", agent="worker", result=f"{path} says this and that of {path}")


CIRCLE = (
    (
        "I need the figures of the reading room from the analyst.",
        "The researcher has the figures of the reading room, not me.",
        "The writer asked for the reading room, so the writer decides.",
    ),
    (
        "Analyst, please, the figures of the reading room.",
        "Researcher, the reading room's figures are needed.",
        "It is for the writer to decide on the reading room.",
    ),
    (
        "The reading room figures, analyst, please.",
        "Those figures of the reading room are with the researcher.",
        "For the reading room the writer decides.",
    ),
)


TO_AND_FRO = (
    ("Who has the figures of the reading room?", "Not me; the reading room is yours, I think."),
    ("The reading room is not mine to count.", "Then whose figures would those be?"),
    ("You had the reading room figures, no?", "I never had figures, the room is yours."),
    ("No figures here; ask about the reading room.", "Whom, if the reading room is not mine?"),
    ("Whoever counts the room has figures.", "That would be you who reads the room."),
    ("I count no reading room.", "And I have no figures of it."),
)


def hand_round(agents, rounds=CIRCLE):
    """Have each run say its part in turn; the run on which a card opened, if any."""
    for words in rounds:
        for run, text in zip(agents, words, strict=True):
            spoken = report(run, says(run.agent, text))
            if spoken.open_decision:
                return spoken
    return None


# --- what is seen -------------------------------------------------------------


def test_the_same_failure_from_child_to_child_holds_the_third(project):
    lead = a_run(project, name="lead")
    first, second = (a_worker(project, lead, n, fails()) for n in range(2))

    third = a_worker(project, lead, 3, fails())

    assert (first.open_decision, second.open_decision) == (None, None)
    assert third.status == "holding"
    assert open_card_of(third).detector == "errors"


def test_the_card_shows_the_turns_of_every_run_and_whose_they_are(project):
    lead = a_run(project, name="lead")
    runs = [a_worker(project, lead, n, fails()) for n in range(3)]

    evidence = open_card_of(runs[-1]).evidence
    assert [item["run"] for item in evidence["items"]] == [str(run.id) for run in runs]
    assert evidence["turns"] == [0]
    assert evidence["summary"] == "3 agents, one after another, ended on the same failure."


def test_the_judge_reads_the_turns_of_every_run(project):
    lead = a_run(project, name="lead")
    third = [a_worker(project, lead, n, fails()) for n in range(3)][-1]

    judging.judge_card(third.open_decision, at=NOON)

    third.refresh_from_db()
    decision = open_card_of(third)
    assert len(judging.case_of(decision).turns) == 3
    assert (decision.status, decision.verdict["loop"]) == ("open", True)


def test_children_that_try_much_before_they_fail_alike_are_seen(project):
    lead = a_run(project, name="lead")
    for n in range(4):
        work = [reads(f"module_{n}_{step}.py") for step in range(12)]
        last = a_worker(project, lead, n, *work, fails())

    assert open_card_of(last).detector == "errors"


def test_the_hundredth_child_is_watched_as_the_first(project):
    lead = a_run(project, name="lead")
    for n in range(MAX_RUNS + 6):
        a_run(project, name=f"worker {n}", agent="worker", parent=lead.id)
    for n in range(3):
        last = a_worker(project, lead, n, fails())

    assert open_card_of(last).detector == "errors"


def asks(text):
    return Turn(role=Role.USER, content=text)


def test_what_each_child_is_asked_does_not_start_the_count_afresh(project):
    lead = a_run(project, name="lead")
    for n in range(3):
        last = a_worker(project, lead, n, asks("Please have the tests pass."), fails())

    assert open_card_of(last).detector == "errors"


def test_two_runs_that_hand_a_matter_to_and_fro_are_seen(project):
    _, one, other = a_tree(project, "writer", "analyst")

    held = hand_round((one, other), TO_AND_FRO)

    assert held is not None
    assert open_card_of(held).detector == "talk"
    assert {item["run"] for item in open_card_of(held).evidence["items"]} == {
        str(one.id),
        str(other.id),
    }


def test_three_runs_in_a_circle_are_seen(project):
    _, *agents = a_tree(project, "writer", "analyst", "researcher")

    held = hand_round(agents)

    assert held is not None
    assert open_card_of(held).detector == "talk"
    assert {item["run"] for item in open_card_of(held).evidence["items"]} == {
        str(run.id) for run in agents
    }


def test_a_process_that_never_saw_the_tree_judges_the_same(project):
    lead = a_run(project, name="lead")
    for n in range(2):
        a_worker(project, lead, n, fails())
    _engines.clear()
    engine_cache.ENGINES.clear()

    assert open_card_of(a_worker(project, lead, 3, fails())).detector == "errors"


def test_a_tree_that_was_left_behind_is_judged_in_order_in_one_go(project):
    _, *agents = a_tree(project, "writer", "analyst", "researcher")
    for words in CIRCLE:
        for run, text in zip(agents, words, strict=True):
            put(run, says(run.agent, text))

    pipeline.detect([run.id for run in agents], at=NOON)

    assert Decision.objects.get().run_id in {run.id for run in agents}


def test_judging_again_opens_no_second_card(project):
    lead = a_run(project, name="lead")
    third = [a_worker(project, lead, n, fails()) for n in range(3)][-1]

    _engines.clear()
    pipeline.detect([third.id, lead.id], at=NOON)

    assert Decision.objects.filter(run=third).count() == 1


def test_a_transaction_that_fails_leaves_nothing_in_the_trees_engine(project, monkeypatch):
    lead = a_run(project, name="lead")
    for n in range(2):
        a_worker(project, lead, n, fails())
    third = a_run(project, name="worker 3", agent="worker", parent=lead.id)
    put(third, fails())
    monkeypatch.setattr(counting.CostTotals, "write", lambda *_, **__: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        pipeline.detect([third.id], at=NOON)
    monkeypatch.undo()

    pipeline.detect([third.id], at=NOON)
    pipeline.detect([third.id], at=NOON)

    third.refresh_from_db()
    assert third.status == "holding"
    assert Decision.objects.filter(run=third).count() == 1


def test_in_warn_a_loop_across_runs_is_journalled_and_the_count_restarts(project):
    lead = a_run(project, name="lead", mode="warn")
    for n in range(4):
        child = a_run(project, name=f"w{n}", agent="worker", parent=lead.id, mode="warn")
        report(child, fails())
        interventions.report_end(child.id, "failed", projects=[project.id], by="agent", at=NOON)

    levels = [
        json.loads(row.payload)["outcome"]
        for row in JournalRow.objects.filter(type="detection.raised")
    ]
    assert levels == ["warned"]


def test_a_run_that_said_it_is_done_is_not_moved_again_by_a_loop_it_closed(project):
    project.policy = {"detectors": ["ralph"]}
    project.save(update_fields=["policy"])
    lead, *agents = a_tree(project, "writer", "analyst", "researcher")
    Run.objects.filter(pk=lead.pk).update(policy={"detectors": ["talk"]})
    hand_round(agents, CIRCLE[:2])
    report(agents[0], says("writer", CIRCLE[2][0]))
    Project.objects.filter(pk=project.pk).update(policy_version=2)

    done = report(agents[1], says("analyst", f"{CIRCLE[2][1]}\n- [x] TASK_COMPLETE"))

    moved = done.journal.filter(type="run.moved")
    assert [json.loads(row.payload)["reason"] for row in moved] == ["it ticked TASK_COMPLETE"]


REPEATS_ONLY = {"detectors": ["repeat"]}


def test_a_tree_is_watched_by_the_rules_of_its_root(project):
    lead = a_run(project, name="lead", policy=REPEATS_ONLY)

    for n in range(4):
        a_worker(project, lead, n, fails())

    assert not Decision.objects.exists()


def test_a_tree_whose_root_was_deleted_is_watched_all_the_same(project):
    root = a_run(project, name="root")
    lead = a_run(project, name="lead", parent=root.id)
    Run.objects.get(pk=root.pk).delete()

    last = [a_worker(project, lead, n, fails()) for n in range(3)][-1]

    assert open_card_of(last).detector == "errors"


def test_a_tree_follows_its_roots_rules_as_they_change(project):
    lead = a_run(project, name="lead", policy=REPEATS_ONLY)
    a_worker(project, lead, 0, fails())
    Run.objects.filter(pk=lead.pk).update(policy=None)

    for n in range(1, 4):
        a_worker(project, lead, n, fails())

    assert Decision.objects.get().detector == "errors"


def test_a_tree_is_allowed_one_more_round_up_to_the_policys_maximum():
    plain, patient = Repeat(), Repeat(rounds=10, cycles=10)

    found = [tree_engines.tree_policy(Policy(repeat=one)).repeat for one in (plain, patient)]

    assert [(one.rounds, one.cycles) for one in found] == [
        (plain.rounds + 1, plain.cycles + 1),
        (10, 10),
    ]


def test_the_least_recently_used_tree_engine_is_evicted(project, monkeypatch):
    monkeypatch.setattr(tree_engines, "MAX_TREES", 2)
    leads = [a_run(project, name=f"lead {n}") for n in range(3)]

    for lead in leads:
        a_worker(project, lead, 1, fails())

    assert list(_engines) == [leads[1].id, leads[2].id]


# --- what people do -----------------------------------------------------------


def test_a_continue_resets_the_streaks_of_the_whole_tree(project):
    lead = a_run(project, name="lead")
    third = [a_worker(project, lead, n, fails()) for n in range(3)][-1]
    tap(third, "continue")
    interventions.report_end(third.id, "failed", projects=[project.id], by="agent", at=NOON)

    fourth, fifth, sixth = (a_worker(project, lead, n, fails()) for n in range(4, 7))

    assert (fourth.open_decision, fifth.open_decision) == (None, None)
    assert open_card_of(sixth).detector == "errors"


def test_after_a_persons_word_to_the_lead_the_whole_tree_counts_afresh(project):
    lead = a_run(project, name="lead")
    for n in range(2):
        a_worker(project, lead, n, fails())
    report(lead, asks("The module is called token, not tokens."))

    for n in range(2, 4):
        assert a_worker(project, lead, n, fails()).open_decision is None


def test_what_was_allowed_is_not_held_in_the_next_child(project):
    lead = a_run(project, name="lead")
    third = [a_worker(project, lead, n, fails()) for n in range(3)][-1]
    tap(third, "allowlist", scope="project")

    later = [a_worker(project, lead, n, fails()) for n in range(4, 8)]

    assert not any(run.open_decision for run in later)


# --- what is left alone -------------------------------------------------------


def test_ten_workers_that_all_read_the_same_file_first_are_left_alone(project):
    lead = a_run(project, name="lead")
    workers = [
        a_run(project, name=f"worker {n}", agent="worker", parent=lead.id) for n in range(10)
    ]
    for worker in workers:
        report(worker, reads("README.md"))
    for number, worker in enumerate(workers):
        report(worker, reads(f"chapter-{number}.md"), says("worker", f"Chapter {number} is fine."))

    assert not Decision.objects.exists()


def test_ten_workers_that_stumble_over_the_same_call_at_once_are_left_alone(project):
    lead = a_run(project, name="lead")
    workers = [
        a_run(project, name=f"worker {n}", agent="worker", parent=lead.id) for n in range(10)
    ]
    for worker in workers:
        report(worker, fails())

    assert not Decision.objects.exists()


def test_workers_started_one_by_one_while_others_go_on_are_left_alone(project):
    lead = a_run(project, name="lead")
    for n in range(10):
        a_worker(project, lead, n, fails(), ends=False)

    assert not Decision.objects.exists()


def test_a_batch_of_children_each_with_work_of_its_own_is_left_alone(project):
    lead = a_run(project, name="lead")
    for n in range(8):
        a_worker(project, lead, n, fails(), reads(f"ticket-{n}.md"))

    assert not Decision.objects.exists()


def test_children_that_change_something_between_the_failures_are_left_alone(project):
    lead = a_run(project, name="lead")
    for n in range(8):
        edit = Turn(
            role=Role.ASSISTANT,
            agent="worker",
            tool="Edit",
            result="updated",
            key=f"edit-{n}",
            args={"file_path": f"app/part_{n}.py", "new_string": f"value = {n}"},
        )
        a_worker(project, lead, n, edit, fails())

    assert not Decision.objects.exists()


def test_workers_who_report_in_like_words_are_left_alone(project):
    lead = a_run(project, name="lead")
    for n in range(12):
        a_worker(project, lead, n, says("worker", "I am done, the review has found nothing."))

    assert not Decision.objects.exists()


def test_two_pollers_side_by_side_are_left_alone(project):
    _, one, other = a_tree(project, "coder", "critic")
    for step in range(12):
        for run in (one, other):
            report(run, a_call("kubectl get job", agent=run.agent, result=f"running, {step} %"))

    assert not Decision.objects.exists()


def test_unlinked_runs_are_judged_independently(project):
    lead = a_run(project, name="lead")
    for n in range(4):
        stranger = a_run(project, name=f"worker {n}", agent="worker")
        report(stranger, fails())
        interventions.report_end(stranger.id, "failed", projects=[project.id], by="agent", at=NOON)
    assert lead.root is None

    assert not Decision.objects.exists()


def test_a_run_linked_later_brings_its_past_into_the_tree(project):
    lead = a_run(project, name="lead")
    for n in range(3):
        child = a_run(project, name=f"worker {n}", agent="worker")
        trees.link_run(child.id, lead.id, projects=[project.id], by="agent", at=NOON)
        report(child, fails())
        interventions.report_end(child.id, "failed", projects=[project.id], by="agent", at=NOON)

    assert Decision.objects.get().detector == "errors"


def test_a_proposed_call_of_a_healthy_child_runs(project):
    lead = a_run(project, name="lead")
    a_worker(project, lead, 1, fails())

    child = report(a_run(project, name="w", agent="worker", parent=lead.id), a_proposal())

    assert Run.objects.get(pk=child.pk).status == "running"

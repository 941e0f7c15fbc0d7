"""Whatever agents, people and the clock do to a run, in any order, it stays one story.

Hypothesis plays deeds against the real services and against a plain model beside
them, and compares after every deed.
"""

from __future__ import annotations

import itertools
from datetime import timedelta
from typing import Any
from uuid import UUID

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

from guard.judge import Verdict
from missioncontrol import errors
from missioncontrol.audit.anchors import anchor_heads
from missioncontrol.audit.checking import verify
from missioncontrol.decisions import deadlines, interventions, sessions
from missioncontrol.decisions.actions import Amount, Tap
from missioncontrol.decisions.directives import control_state_of, make_directive
from missioncontrol.decisions.models import Decision
from missioncontrol.detection import engine_cache, judging, pipeline
from missioncontrol.runs.lifecycle import TABLE
from missioncontrol.runs.models import Run
from tests.build import a_call, a_project, a_proposal, a_run, deliver_messages, put
from tests.examples import examples_for
from tests.property.model import ENDED, Card, RunModel

REACHABLE = {(before.value, after.value) for (before, _), after in TABLE.items()}
KEYS = st.integers(0, 7).map(lambda number: f"k{number}")
COMMANDS = st.sampled_from(["pytest -q", "pytest -q", "pytest -q", "ls", "git status"])
ERRORS = st.sampled_from(["ModuleNotFoundError: tokens", "ModuleNotFoundError: tokens", None])
ACTIONS = ["pause", "continue", "terminate", "inject", "allowlist", "allow_budget", "finish"]
ORDER = ["asked", "delivered", "acknowledged", "unreachable"]
FINAL = {"acknowledged", "unreachable"}


def has_text(run, key):
    return run.messages.filter(intervention=key, delivered_at=None).exists()


class OneRun(RuleBasedStateMachine):
    """The deeds. `model` is told of each one; the invariants look at the database."""

    @initialize(
        mode=st.sampled_from(["pause", "pause", "auto", "flag", "warn"]),
        unanswered=st.sampled_from(["stop", "proceed"]),
        ceiling=st.sampled_from([None, None, 4]),
    )
    def open(self, mode, unanswered, ceiling):
        self.project = a_project(unanswered=unanswered)
        budget = {"calls": ceiling} if ceiling else {}
        self.run = a_run(self.project, mode=mode, budget=budget)
        self.model = RunModel(unanswered=unanswered, mode=mode, ceiling=ceiling)
        self.taps: list[Tap] = []
        self.answers: dict[UUID, str] = {}
        self.numbers = 0

    # --- the agent --------------------------------------------------------------------

    @rule(key=KEYS, command=COMMANDS)
    def propose(self, key, command):
        self._store(a_proposal(command, key=key))

    @rule(key=KEYS, command=COMMANDS, error=ERRORS)
    def complete(self, key, command, error):
        self._store(a_call(command, key=key, error=error, result=None if error else "ok"))

    @rule(error=ERRORS)
    def repeat_itself(self, error):
        """What loops are made of: the same call, done and looked at."""
        self.numbers += 1
        self._store(a_call("pytest -q", key=f"loop-{self.numbers}", error=error))
        self.look()

    @precondition(lambda self: self.model.last_turn is not None)
    @rule()
    def go_on_though_asked_to_finish(self):
        for _ in range(3):
            self.numbers += 1
            self._store(a_call("ls", key=f"more-{self.numbers}", result="ok"))
        self.look()

    @rule()
    def look(self):
        before = self._row()
        pipeline.detect([self.run.id], at=self.model.now)
        self._follow_detection(before)

    @rule()
    def look_twice(self):
        self.look()
        before = self._row().meters.event_seq

        pipeline.detect([self.run.id], at=self.model.now)

        assert self._row().meters.event_seq == before

    @rule()
    def another_process_takes_over(self):
        engine_cache.ENGINES.pop(self.run.id, None)

    @rule(status=st.sampled_from(["completed", "failed"]))
    def report_an_end(self, status):
        interventions.report_end(
            self.run.id, status, projects=[self.project.id], by="agent", at=self.model.now
        )
        self.model.report_end(status)

    @rule()
    def say_goodbye(self):
        sessions.end_session(self.run.id, at=self.model.now)
        self.model.end_session()

    @rule()
    def wait_for_an_answer(self):
        sessions.record_waiting(self.run.id, at=self.model.now)
        self.model.wait()

    @rule()
    def take_the_messages(self):
        assert len(deliver_messages(self.run, at=self.model.now)) == self.model.undelivered
        self.model.undelivered = 0

    @rule()
    def let_the_answer_leave(self):
        sessions.record_answer_sent(self.run.id, self.run.meters.unconfirmed, at=self.model.now)

    # --- people -----------------------------------------------------------------------

    @rule(
        action=st.sampled_from(ACTIONS),
        knows=st.sampled_from(["now", "now", "before", "no"]),
        of_card=st.booleans(),
    )
    def tap(self, action, knows, of_card):
        version = {"now": self.model.version, "before": self.model.version - 1, "no": None}[knows]
        decision = self.model.card.id if of_card and self.model.card else None
        self.numbers += 1
        tap = Tap(
            key=f"tap-{self.numbers}",
            action=action,
            version=version,
            decision=decision,
            message="Use token.py." if action == "inject" else None,
            amount=Amount(calls=5) if action == "allow_budget" else None,
        )
        refusal = self.model.refusal(action, version=version, decision=decision)
        if refusal:
            self._is_refused(tap, refusal)
            return
        _, is_new = self._intervene(tap)
        assert is_new
        self.model.tap(action)
        self.taps.append(tap)

    @precondition(lambda self: bool(self.taps))
    @rule(data=st.data())
    def tap_the_same_again(self, data):
        tap = data.draw(st.sampled_from(self.taps))

        _, is_new = self._intervene(tap)

        assert not is_new

    @precondition(lambda self: bool(self.taps))
    @rule(data=st.data())
    def reuse_a_key(self, data):
        known = data.draw(st.sampled_from(self.taps))

        self._is_refused(Tap(key=known.key, action="pause", message="another"), "KeyReused")

    @rule(mode=st.sampled_from(["pause", "auto", "flag", "warn"]))
    def set_the_mode(self, mode):
        interventions.set_mode(
            self.run.id, mode, projects=[self.project.id], by="ana", at=self.model.now
        )
        self.model.set_mode(mode)

    # --- the judge --------------------------------------------------------------------

    @precondition(lambda self: bool(self.model.card and self.model.card.judging))
    @rule(loop=st.booleans(), fix=st.sampled_from([None, "Use token.py."]))
    def rule_on_the_card(self, loop, fix):
        card = self.model.card
        verdict = Verdict(judge="local", loop=loop, confidence=0.9, reason="so it seems", fix=fix)

        judging.apply_verdict(card.id, verdict, at=self.model.now)

        card.judging = False
        resolution = Decision.objects.get(pk=card.id).resolution
        may_fix = loop and fix and card.holds and self.model.mode == "auto"
        assert resolution in ({None, "autofix"} if may_fix else {None} if loop else {"dismissed"})
        if resolution:
            self.model.undelivered += resolution == "autofix"
            self.model.close_card()

    # --- the clock --------------------------------------------------------------------

    @rule(seconds=st.sampled_from([1, 9, 11, 60, 1900, 3700]))
    def pass_time(self, seconds):
        self.model.now += timedelta(seconds=seconds)

    @rule()
    def sweep(self):
        at = self.model.now
        deadlines.give_up_abandoned_holds(at=at)
        deadlines.expire_unanswered_holds(at=at)
        deadlines.lose_silent_runs(at=at, listening_since=at - timedelta(hours=1))
        self.model.sweep()

    @rule()
    def anchor(self):
        anchor_heads(at=self.model.now)

    # --- what always holds ------------------------------------------------------------

    @invariant()
    def it_stays_one_story(self):
        run = self._row()
        self._is_as_the_model_says(run)
        self._has_one_open_card(run)
        self._has_stored_turns_once(run)
        self._is_told_by_its_journal(run)
        self._counts_its_messages(run)
        self._follows_answers_forward(run)

    def teardown(self):
        found = verify(projects=[self.project.id])
        assert found.ok, found

    def _is_as_the_model_says(self, run):
        model = self.model
        state = (run.status, run.version, run.mode, run.open_decision)
        card = model.card.id if model.card else None
        assert state == (model.status, model.version, model.mode, card)
        assert make_directive(control_state_of(run), asked_seq=None).action == model.directive
        assert (run.ended_at is not None) == (run.status in ENDED)

    def _has_one_open_card(self, run):
        opened = run.decisions.filter(status__in=["judging", "open"]).values_list("id", flat=True)
        assert list(opened) == [run.open_decision][: bool(run.open_decision)]

    def _has_stored_turns_once(self, run):
        turns = list(run.turn_rows.order_by("seq").values_list("seq", "key", "phase"))
        assert [seq for seq, _, _ in turns] == list(range(run.meters.last_seq + 1))
        assert {key: phase for _, key, phase in turns} == self.model.phases
        assert run.meters.detected_obs <= run.meters.last_obs == self.model.obs

    def _is_told_by_its_journal(self, run):
        rows = run.journal.order_by("seq").values_list("seq", "version", "status")
        numbers, versions, statuses = zip(*rows, strict=True)
        assert numbers == tuple(range(run.meters.event_seq + 1))
        assert list(versions) == sorted(versions)
        assert (versions[-1], statuses[-1]) == (run.version, run.status)
        moves = {(one, two) for one, two in itertools.pairwise(statuses) if one != two}
        assert moves <= REACHABLE

    def _counts_its_messages(self, run):
        undelivered = run.messages.filter(delivered_at=None).count()
        assert undelivered == run.meters.queued_messages == self.model.undelivered

    def _follows_answers_forward(self, run):
        for key, status in run.interventions.values_list("id", "status") if self.taps else ():
            before = self.answers.get(key, "asked")
            assert before not in FINAL or status == before
            assert ORDER.index(status) >= ORDER.index(before)
            assert key == run.meters.unconfirmed or status != "asked" or has_text(run, key)
            assert key != run.meters.unconfirmed or status not in FINAL
            self.answers[key] = status

    # --- inside -----------------------------------------------------------------------

    def _row(self) -> Run:
        return Run.objects.select_related("project").get(pk=self.run.pk)

    def _store(self, turn):
        stored = put(self.run, turn, at=self.model.now)
        is_new = self.model.store(turn.key, turn.phase)
        assert (stored.accepted, stored.duplicates) == (int(is_new), int(not is_new))

    def _follow_detection(self, before):
        run = self._row()
        assert run.meters.detected_obs == run.meters.last_obs
        self.model.tool_calls = run.meters.tool_calls
        self.model.look()
        if run.open_decision == before.open_decision:
            return
        decision = Decision.objects.get(pk=run.open_decision)
        assert self.model.card is None
        assert self.model.status in {"running", "holding", "held"}
        is_new = self.model.outlived is None
        if is_new:
            assert self.model.mode != "warn"
            assert decision.holds == (self.model.mode != "flag")
        waits = decision.kind != "budget" and is_new
        self.model.open_card(
            Card(id=decision.id, kind=decision.kind, holds=decision.holds, judging=waits)
        )

    def _intervene(self, tap) -> Any:
        return interventions.intervene(
            self.run.id, tap, projects=[self.project.id], by="ana", at=self.model.now
        )

    def _is_refused(self, tap, error):
        with pytest.raises(getattr(errors, error)):
            self._intervene(tap)


@pytest.mark.slow
def test_no_order_of_actions_breaks_the_state_of_a_run(db):
    run_state_machine_as_test(
        OneRun,
        settings=settings(
            max_examples=examples_for(18),
            stateful_step_count=25,
            deadline=None,
            suppress_health_check=list(HealthCheck),
        ),
    )

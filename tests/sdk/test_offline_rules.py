"""A session whose server is away judges by the rules it saw last, and asks at the terminal."""

import pytest

from guard import Session, Stopped
from guard.sdk import terminal
from guard.sdk.outbox import project_folder
from guard.sdk.rules import FILE, Rules
from guard.sdk.terminal import Choice
from tests.installations import wait_for
from tests.sdk.outage import RULES, fail_often, fail_once, reported_to, store_rules
from tests.sdk.server import LoopbackServer, directive

# --- the same engine, the last policy ----------------------------------------------


def test_a_loop_during_an_outage_is_ended_as_the_projects_rules_say(server, session_options):
    store_rules(server, session_options, unanswered="stop")
    server.stop()

    with Session("x", **session_options) as session:
        times, why = fail_often(session, 5)
        with pytest.raises(Stopped):
            session.say("Once more?")

    assert times == 2
    assert "about to do so again" in why


def test_without_any_rules_a_looping_agent_continues(server, session_options):
    server.stop()

    with Session("x", **session_options) as session:
        assert all(fail_once(session).run for _ in range(5))


def test_a_streak_continues_when_the_server_goes_away(server, session_options):
    store_rules(server, session_options, unanswered="stop")
    with Session("x", **session_options) as session:
        fail_once(session)
        fail_once(session)
        server.stop()

        times, _ = fail_often(session, 3)

    assert times == 0


def work_until_stopped(session, times, **facts):
    """Do something new each time; gives how often it was let."""
    for n in range(times):
        try:
            go = session.before("read_file", {"path": f"{n}.py"}, **facts)
            session.after(go, result=f"text {n}")
        except Stopped:
            return n
    return times


def test_a_ceiling_does_not_begin_anew_with_an_outage(server, session_options):
    """However long ago it was: the engine itself reads only the newest turns again."""
    server.rules = RULES | {"policy": {"budget": {"usd": "1.60"}}}
    with Session("x", **session_options) as session:
        wait_for(lambda: server.requests_to("GET", "rules/"))
        work_until_stopped(session, 150, cost_usd="0.01")
        server.stop()

        assert work_until_stopped(session, 50, cost_usd="0.01") == 9


def test_a_ceiling_counts_what_the_run_had_used_before_this_session(server, session_options):
    """A thread of conversation is one run of many sessions."""
    server.rules = RULES | {"policy": {"budget": {"usd": "2", "tokens": 100}}}
    server.used = {"cost_usd": "1.50", "judge_cost_usd": "0.45", "usage": {"input": 40}, "calls": 3}
    with Session("x", **session_options) as session:
        wait_for(lambda: server.requests_to("GET", "rules/"))
        server.stop()

        assert work_until_stopped(session, 50, cost_usd="0.01") == 4


def test_the_last_policy_seen_applies(server, session_options):
    store_rules(server, session_options, project_policy={"repeat": {"calls": 5}})
    server.stop()

    with Session("x", **session_options) as session:
        times, _ = fail_often(session, 9)
    assert times == 4


def test_a_changed_policy_is_fetched_again(server, session_options):
    server.rules = RULES
    folder = project_folder(session_options["outbox"], server.url, "mc_k")
    with Session("x", **session_options) as session:
        wait_for((folder / FILE).exists)
        for version in (1, 2):
            server.rules = {**RULES, "hold_limit": 60 + version}
            server.answer = _versioned(server, LoopbackServer.answer, version)
            session.say(f"version {version}")
        wait_for(lambda: '"hold_limit": 62' in (folder / FILE).read_text())


def _versioned(server, answer, version):
    def answered(asked):
        status, body = answer(server, asked)
        return status, {**body, "policy_version": version} if isinstance(body, dict) else body

    return answered


def test_calls_that_people_allow_may_repeat(server, session_options):
    calls = [{"scope": "project", "agent": None, "pattern": "read_file *", "match": "glob"}]
    store_rules(server, session_options, allowlist=calls)
    server.stop()

    with Session("x", **session_options) as session:
        assert all(fail_once(session).run for _ in range(6))


def test_in_mode_auto_the_local_judge_corrects(server, session_options):
    store_rules(server, session_options, project_mode="auto")
    server.stop()

    with Session("x", workspace=["settings.py"], **session_options) as session:
        goes = [fail_once(session) for _ in range(3)]

    assert not goes[2].run
    assert "settings.py" in goes[2].text


def test_a_nudge_of_the_policy_is_given_at_once(server, session_options):
    ladder = {"ladder": {"every": {"nudge": "tell"}}}
    store_rules(server, session_options, project_policy=ladder)
    server.stop()

    with Session("x", **session_options) as session:
        notes = []
        for _ in range(2):
            go = session.before("read_file", {"path": "setings.py"})
            notes += [*go.messages, *session.after(go, error="setings.py: no such file")]

    assert len(notes) == 1
    assert notes[0].startswith("Noticed by the loop guard: It ")


def test_in_mode_warn_no_call_is_held(server, session_options, caplog):
    store_rules(server, session_options, project_mode="warn")
    server.stop()

    with Session("x", **session_options) as session:
        assert all(fail_once(session).run for _ in range(6))
    assert "about to do so again" in caplog.text


def test_a_verdict_of_no_loop_is_logged(server, session_options, caplog):
    store_rules(server, session_options, project_policy={"detectors": ["loopguard"]})
    server.stop()
    caplog.set_level("INFO", logger="guard")

    with Session("x", **session_options) as session:
        for failures in (3, 2, 1):
            go = session.before("Bash", {"command": "pytest -q"})
            session.after(go, result=f"{failures} failed")

    assert "The last 3 events are the same. No loop: Fewer checks fail" in caplog.text


@pytest.mark.parametrize("unanswered", ["stop", "proceed"])
def test_the_choice_is_delivered_after_its_call(server, session_options, unanswered):
    store_rules(server, session_options, unanswered=unanswered)
    server.stop()
    try:
        with Session("x", **session_options) as session:
            for _ in range(3):
                fail_once(session)
    except Stopped:
        pass
    server.start()
    with Session("next", **session_options):
        wait_for(lambda: server.requests_to("PATCH", "run-1/"))

    (choice,) = server.requests_to("POST", "choices/")
    third = reported_to(server)[4][0]
    assert choice.body["action"] == {"stop": "terminate", "proceed": "continue"}[unanswered]
    assert (choice.body["by"], choice.body["turn"]) == ("policy", third)
    assert "read_file" in choice.body["calls"][0]
    before = server.requests[: server.requests.index(choice)]
    posted = [t["key"] for asked in before if asked.path.endswith("/turns/") for t in asked.turns]
    assert posted[-1] == third


# --- the terminal --------------------------------------------------------------------


@pytest.fixture
def person(monkeypatch):
    """A person at the terminal, who answers as told."""
    asked = []

    def answers(*choices):
        given = iter(choices)

        def ask(question, *, is_obsolete):
            asked.append(question)
            return next(given)

        monkeypatch.setattr(terminal, "ask_at_terminal", ask)
        return asked

    return answers


def test_a_person_at_the_terminal_is_asked(server, session_options, person):
    asked = person(Choice(action="continue"))
    server.stop()
    with Session("fix-auth", **session_options) as session:
        assert all(fail_once(session).run for _ in range(3))

    (question,) = asked
    assert question.run == "fix-auth"
    assert "about to do so again" in question.reason
    assert "setings.py" in question.call


def test_a_persons_text_replaces_the_call(server, session_options, person):
    person(Choice(action="inject", message="Read settings.py."))
    server.stop()
    with Session("x", **session_options) as session:
        goes = [fail_once(session) for _ in range(3)]

    assert (goes[2].run, goes[2].text) == (False, "Read settings.py.")


def test_a_person_may_end_the_run(server, session_options, person):
    person(Choice(action="terminate"))
    server.stop()
    with Session("x", **session_options) as session:
        times, why = fail_often(session, 5)

    assert times == 2
    assert why.endswith("Terminated at the agent's terminal.")


def test_a_call_a_person_allowed_is_not_asked_about_again(server, session_options, person):
    asked = person(Choice(action="allowlist"))
    server.stop()
    with Session("x", **session_options) as session:
        assert all(fail_once(session).run for _ in range(9))

    assert len(asked) == 1


def test_a_released_call_is_asked_about_when_it_repeats_again(server, session_options, person):
    asked = person(Choice(action="continue"), Choice(action="continue"))
    server.stop()
    with Session("x", **session_options) as session:
        assert all(fail_once(session).run for _ in range(6))

    assert len(asked) == 2


def test_a_host_may_switch_the_question_off(server, session_options, person):
    asked = person(Choice(action="terminate"))
    server.stop()
    with Session("x", ask=False, **session_options) as session:
        assert all(fail_once(session).run for _ in range(4))

    assert asked == []


def test_a_server_that_comes_back_answers_instead(server, session_options, monkeypatch):
    def ask(question, *, is_obsolete):
        server.answer_turn = lambda _: (200, directive("proceed", "read b.py", call="skip"))
        server.start()
        wait_for(is_obsolete)

    monkeypatch.setattr(terminal, "ask_at_terminal", ask)
    server.stop()
    with Session("x", **session_options) as session:
        goes = [fail_once(session) for _ in range(3)]

    assert goes[2].text == "read b.py"


@pytest.mark.parametrize(
    "body",
    [{}, {"policy": {"no_such": {}}, "mode": "dance", "hold_limit": "x", "allowlist": [3]}],
)
def test_unreadable_rules_become_the_defaults(body):
    assert Rules.of_run(body) == Rules()


def test_allowlist_entries_of_another_run_do_not_apply():
    rows = [
        {"scope": "run", "pattern": "a", "match": "exact"},
        {"scope": "agent", "agent": "coder", "pattern": "b", "match": "exact"},
        {"scope": "agent", "agent": "other", "pattern": "c", "match": "exact"},
        {"scope": "project", "pattern": "d", "match": "exact"},
    ]

    rules = Rules.of_project({"allowlist": rows}, {"agent": "coder"})

    assert [one.pattern for one in rules.allowed] == ["b", "d"]

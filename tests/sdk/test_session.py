import logging
import os
import threading

import pytest

from guard import Escalation, Session, Stopped
from guard.errors import ServerAway
from guard.sdk import conversation
from guard.sdk.flow import Response
from tests.installations import wait_for
from tests.sdk.server import directive


@pytest.fixture
def session(server):
    with Session("fix-auth", url=server.url, key="mc_k", agent="coder") as opened:
        yield opened


def away(**fields):
    return Session("fix-auth", url="http://127.0.0.1:9", key="mc_k", **fields)


def test_it_opens_the_run_with_a_key_of_its_own(server):
    with Session(
        "fix-auth", url=server.url, key="mc_k", goal="pass", workspace=["a.py"], mode="auto"
    ):
        pass

    (opened,) = server.requests_to("POST", "runs/")
    assert opened.headers["Authorization"] == "Bearer mc_k"
    assert opened.body["key"]
    assert opened.body["workspace"] == ["a.py"]
    assert (opened.body["name"], opened.body["goal"], opened.body["mode"]) == (
        "fix-auth",
        "pass",
        "auto",
    )


def test_a_url_and_key_come_from_the_environment(server, monkeypatch):
    monkeypatch.setenv("MISSIONCONTROL_URL", server.url)
    monkeypatch.setenv("MISSIONCONTROL_KEY", "mc_env")

    with Session("x"):
        pass

    assert server.requests[0].headers["Authorization"] == "Bearer mc_env"


def test_a_call_is_proposed_and_then_completed_under_one_key(server, session):
    go = session.before("Bash", {"command": "pytest -q"})
    session.after(go, result="1 passed", usage={"input": 3, "output": 1}, call_id="c-1")

    proposed, done = (asked.turn for asked in server.requests_to("POST", "turns/"))
    assert go.run
    assert proposed["phase"] == "proposed"
    assert proposed["args"] == {"command": "pytest -q"}
    assert done["phase"] == "done"
    assert done["key"] == proposed["key"]
    assert done["usage"]["input"] == 3
    assert done["agent"] == "coder"


def test_only_a_proposal_waits_for_the_verdict(server, session):
    session.after(session.before("Bash"))

    proposed, done = server.requests_to("POST", "turns/")
    assert proposed.headers["Prefer"].startswith("wait=")
    assert done.headers["Prefer"] is None


def test_a_held_call_waits_for_its_own_answer(server, session):
    server.answer_turn = lambda _: (200, directive("hold", version=4))
    polls = iter([(204, None), (200, directive("hold", version=5)), (200, directive(version=6))])
    server.answer_poll = lambda _: next(polls)

    go = session.before("Bash", {"command": "pytest -q"})

    asked = [poll.path.partition("?")[2] for poll in server.requests_to("GET", "directive/")]
    key = server.requests_to("POST", "turns/")[0].turn["key"]
    assert go.run
    assert [
        f"after={version}&call={key}" in a for version, a in zip((4, 4, 5), asked, strict=True)
    ] == [True] * 3


def test_a_skipped_call_gets_the_messages_for_a_result(server, session):
    server.answer_turn = lambda _: (200, directive("proceed", "read b.py", call="skip"))

    go = session.before("Read", {"path": "a.py"})

    assert (go.run, go.text) == (False, "read b.py")
    assert session.after(go, result="never") == ()
    assert len(server.requests_to("POST", "turns/")) == 1


def test_a_message_is_given_once_and_marked_delivered(server, session):
    server.answer_turn = lambda _: (200, directive("proceed", "look-up"))

    first = session.before("Bash")
    second = session.after(first, result="x")

    assert first.messages == ("look-up",)
    assert second == ()
    assert len(server.requests_to("POST", "messages/m-look-up/delivered/")) == 1


def test_a_message_for_another_agent_waits_for_it(server, session):
    answer = directive("proceed", "for b")
    answer["messages"][0]["agent"] = "b"
    server.answer_turn = lambda _: (200, answer)

    assert session.say("hello", agent="a") == ()
    assert session.say("hello", agent="b") == ("for b",)


def test_parallel_held_calls_share_one_message(server, session):
    tapped = threading.Event()
    server.answer_turn = lambda _: (200, directive("hold"))

    def answer_poll(_):
        tapped.wait(60)
        return 200, directive("proceed", "use b.py", version=2, call="skip")

    server.answer_poll = answer_poll
    texts = []
    calls = [
        threading.Thread(target=lambda: texts.append(session.before("Read").text)) for _ in "ab"
    ]
    for call in calls:
        call.start()
    tapped.set()
    for call in calls:
        call.join()

    assert sorted(texts) == sorted(["use b.py", conversation.ANSWERED_ELSEWHERE])


def test_a_stop_is_raised_and_stays(server, session):
    server.answer_turn = lambda _: (200, directive("stop", reason="ended by Ann"))

    for _ in range(2):
        with pytest.raises(Stopped, match="ended by Ann"):
            session.before("Bash")

    assert len(server.requests_to("POST", "turns/")) == 1


def test_a_stopped_run_is_reported_as_ended(server):
    server.answer_turn = lambda _: (200, directive("stop"))

    with pytest.raises(Stopped), Session("x", url=server.url, key="k") as session:
        session.before("Bash")

    (ended,) = server.requests_to("PATCH", "runs/run-1/")
    assert ended.body == {"status": "failed"}


def test_a_run_that_ends_well_is_completed(server):
    with Session("x", url=server.url, key="k"):
        pass

    assert server.requests_to("PATCH", "runs/run-1/")[0].body == {"status": "completed"}


def test_a_call_runs_the_function_and_tells_what_it_gave(server, session):
    server.answer_turn = lambda asked: (
        200,
        directive("proceed", *(["next: b"] if asked.turn["phase"] == "done" else [])),
    )

    text = session.call("add", {"a": 1, "b": 2}, lambda a, b: a + b)

    assert text == "3\n\n[Mission Control] next: b"


def test_a_call_that_raises_is_told_and_raised(server, session):
    with pytest.raises(ZeroDivisionError):
        session.call("divide", {"a": 1}, lambda a: a / 0)

    assert (
        server.requests_to("POST", "turns/")[1].turn["error"]
        == "ZeroDivisionError: division by zero"
    )


def test_without_a_server_the_agent_goes_on_and_one_line_is_logged(caplog):
    with caplog.at_level(logging.INFO, "guard"), away() as session:
        runs = [session.before("Bash").run for _ in range(3)]

    assert runs == [True] * 3
    assert len(caplog.records) == 1


def test_without_a_server_a_closed_agent_runs_no_tool():
    with away(fail="closed") as session:
        go = session.before("Bash")

    assert not go.run
    assert go.text == conversation.UNREACHABLE


@pytest.mark.parametrize(
    ("status", "body"),
    [(401, {"code": "unauthorized"}), (500, None), (200, None), (200, {"action": "dance"})],
)
def test_an_unusable_answer_does_not_break_the_host(server, session, status, body):
    server.answer_turn = lambda _: (status, body)

    assert session.before("Bash").run


def test_a_held_call_keeps_waiting_across_a_restart(server, monkeypatch):
    monkeypatch.setattr(conversation, "MAX_PAUSE_S", 0.1)
    server.answer_turn = lambda _: (200, directive("hold"))
    server.answer_poll = lambda _: (503, None)
    answers = []
    with Session("x", url=server.url, key="k") as session:
        call = threading.Thread(target=lambda: answers.append(session.before("Bash")))
        call.start()
        server.await_polls()
        server.stop()
        server.answer_poll = lambda _: (200, directive("proceed", "go on", version=2))
        server.start()
        call.join(60)

    assert [(go.run, go.messages) for go in answers] == [(True, ("go on",))]


def test_a_held_call_whose_key_is_revoked_is_not_run(server, session):
    server.answer_turn = lambda _: (200, directive("hold"))
    server.answer_poll = lambda _: (401, {"code": "not_signed_in"})

    go = session.before("Bash")

    assert (go.run, go.text) == (False, conversation.REFUSED_WHILE_HELD)


@pytest.mark.parametrize("page", [(403, None), (403, {"message": "Forbidden"}), (200, None)])
def test_a_held_call_survives_a_proxys_page(server, session, page):
    server.answer_turn = lambda _: (200, directive("hold"))
    answers = iter([page])
    server.answer_poll = lambda _: next(answers, (200, directive("proceed", version=2)))

    assert session.before("Bash").run


def test_a_held_call_gives_up_on_a_server_that_stays_away(server, monkeypatch):
    monkeypatch.setattr(conversation, "MAX_OUTAGE_S", 0.2)
    server.answer_turn = lambda _: (200, directive("hold"))

    def vanish(_):
        threading.Thread(target=server.stop).start()
        return 503, None

    server.answer_poll = vanish

    with Session("x", url=server.url, key="k", fail="closed") as session:
        assert not session.before("Bash").run


@pytest.mark.parametrize("page", [(502, None), (503, {"message": "no backend"}), (403, None)])
def test_a_held_call_gives_up_on_a_program_that_keeps_answering_in_the_servers_place(
    server, monkeypatch, page
):
    monkeypatch.setattr(conversation, "MAX_OUTAGE_S", 0.2)
    server.answer_turn = lambda _: (200, directive("hold"))
    server.answer_poll = lambda _: page

    with Session("x", url=server.url, key="k", fail="closed") as session:
        assert session.before("Bash").text == conversation.UNREACHABLE


def test_a_held_call_waits_for_a_busy_server(server, monkeypatch):
    monkeypatch.setattr(conversation, "MAX_OUTAGE_S", 0.0)
    server.answer_turn = lambda _: (200, directive("hold"))
    answers = [(200, directive(version=2)), (503, {"code": "unavailable"})]
    server.answer_poll = lambda _: answers.pop()

    with Session("x", url=server.url, key="k", fail="closed") as session:
        assert session.before("Bash").run


class Frozen:
    """Holds the first call, then takes every request and answers none in its time."""

    def __init__(self):
        self.now, self.polls = 0.0, 0

    def send(self, request):
        if request.path.endswith("/turns/"):
            return Response(status=200, body={"directive": directive("hold")})
        if "/directive/" in request.path:
            self.polls += 1
            self.now += request.timeout_s
            raise ServerAway("timed out")
        return Response(status=200, body={"id": "run-1"})

    def close(self):
        pass


def test_time_spent_on_a_frozen_server_counts_as_outage(monkeypatch):
    frozen = Frozen()
    monkeypatch.setattr(conversation, "monotonic", lambda: frozen.now)
    monkeypatch.setattr(conversation, "MAX_PAUSE_S", 0.01)

    session = Session("x", transport=frozen, fail="closed", heartbeat=False, outbox=False)
    assert not session.before("Bash").run

    assert frozen.now <= conversation.MAX_OUTAGE_S + 2 * (
        conversation.POLL_S + conversation.NETWORK_S
    )


@pytest.mark.parametrize("page", [(403, None), (404, {"message": "no route"})])
def test_a_turn_that_a_proxys_page_blocked_is_delivered_later(server, tmp_path, page):
    server.answer_turn = lambda _: page

    with Session("x", url=server.url, key="k", outbox=tmp_path) as session:
        go = session.before("Bash", {"command": "make"})
        session.after(go, result="built")
        server.answer_turn = lambda _: (200, directive())

        wait_for(
            lambda: [t for a in server.requests_to("POST", "turns/") for t in a.turns if "ts" in t]
        )
    told = [
        turn
        for asked in server.requests_to("POST", "turns/")
        for turn in asked.turns
        if "ts" in turn
    ]
    assert [turn["phase"] for turn in told] == ["proposed", "done"]


def test_a_turn_that_a_firewall_blocks_does_not_block_the_next(server, tmp_path):
    taken = []

    def answer(asked):
        if "DROP TABLE" in str(asked.body):
            return 403, None
        taken.extend(asked.turns)
        return 200, directive()

    server.answer_turn = answer

    with Session("x", url=server.url, key="k", outbox=tmp_path) as session:
        for command in ("psql -c 'DROP TABLE runs'", "ls"):
            session.after(session.before("Bash", {"command": command}), result="done")

        wait_for(lambda: {"proposed", "done"} <= {turn["phase"] for turn in taken})
    assert all(turn["args"] == {"command": "ls"} for turn in taken)


def test_an_empty_object_does_not_answer_a_held_call(server):
    server.answer_turn = lambda _: (200, directive("hold"))
    answers = [(200, directive(version=2)), (200, {})]
    server.answer_poll = lambda _: answers.pop()

    with Session("x", url=server.url, key="k") as session:
        assert session.before("Bash").run


def test_a_run_is_opened_once_the_server_is_there(server):
    server.stop()
    with Session("x", url=server.url, key="k") as session:
        session.before("Bash")
        server.start()

        wait_for(lambda: session.run_id == "run-1")


def test_a_closed_agent_works_again_as_soon_as_the_server_is_back(server):
    server.stop()
    with Session("x", url=server.url, key="k", fail="closed") as session:
        assert not session.before("Bash").run
        server.start()
        assert session.before("Bash").run


def test_a_very_long_text_is_cut_in_the_middle(server, session):
    session.say("a" * 300_000 + "b")

    content = server.requests_to("POST", "turns/")[0].turn["content"]
    assert len(content) < 201_000
    assert content.endswith("b")
    assert "100001 characters cut" in content


def test_values_unknown_to_json_are_sent_as_text(server, session):
    session.before("Write", {"path": object})

    assert "object" in server.requests_to("POST", "turns/")[0].turn["args"]["path"]


def test_an_invalid_address_is_refused_at_once():
    with pytest.raises(ValueError, match="no http"):
        Session("x", url="ftp://x", key="k")


def test_emit_gets_the_events_of_the_session(server):
    events = []
    server.answer_turn = lambda _: (200, directive("proceed", "look elsewhere"))

    with Session("x", url=server.url, key="mc_k", emit=events.append) as session:
        session.before("Bash", {"command": "ls"})

    assert [type(event).__name__ for event in events[:3]] == ["Opened", "Directed", "Messaged"]
    assert events[-1].status == "completed"
    assert events[0].run == "run-1"
    assert events[2].message.text == "look elsewhere"


def test_emit_gets_one_event_for_each_outage():
    events = []

    with away(emit=events.append) as session:
        session.before("Bash")
        session.before("Bash")

    assert [type(event).__name__ for event in events] == ["Away"]


def test_a_callback_that_fails_does_not_reach_the_agent(server, caplog):
    def fail(event):
        raise RuntimeError("no")

    with Session("x", url=server.url, key="mc_k", emit=fail) as session:
        assert session.before("Bash").run

    assert len([r for r in caplog.records if "emit callback" in r.message]) == 1


@pytest.mark.parametrize("nature", [{"loop_key": ["command"], "retry": "poll"}, None])
def test_a_call_may_declare_its_nature(server, session, nature):
    session.before("Bash", {"command": "ls"}, **({"nature": nature} if nature else {}))

    (asked,) = server.requests_to("POST", "turns/")
    expected = {"loop_key": ["command"], "progress_key": [], "retry": "poll"}
    assert asked.turn.get("nature") == (expected if nature else None)


ESCALATION = {
    "reason": "It made the same edit 3 times.",
    "detector": "fingerprint",
    "kind": "exact_repeat",
    "repeats": 3,
    "first_error": "KeyError: 'user'",
}


def escalated(**fields):
    answer = directive("proceed", "try another way")
    answer["messages"][0]["escalation"] = {**ESCALATION, **fields}
    return answer


class NoWords:
    """An object of the host that cannot be told as text."""

    def __str__(self):
        raise RuntimeError("no words")


class NoPath(NoWords, os.PathLike[str]):
    """Likewise, and it says that it is a path."""

    def __fspath__(self):
        raise RuntimeError("no path")


def a_circle():
    ring = []
    ring.append(ring)
    return ring


def a_chimney():
    top = {}
    below = top
    for _ in range(100_000):
        below["a"] = {}
        below = below["a"]
    return top


ODD = {
    "keys": {("a", 1): 2},
    "no words": {"n": NoWords()},
    "no path": {"p": NoPath()},
    "circle": {"ring": a_circle()},
    "deep": a_chimney(),
    "huge": {"s": "x" * 20_000_000},
}


@pytest.mark.parametrize("args", ODD.values(), ids=ODD)
def test_arguments_unknown_to_json_are_reported_in_part_and_raise_nothing(server, session, args):
    go = session.before("Bash", args)
    session.after(go, result=NoWords())

    proposed, done = (asked.turn for asked in server.requests_to("POST", "turns/"))
    assert proposed["args"]
    assert len(str(proposed)) < 8_000_000
    assert done["result"] == "<NoWords>"


def test_a_tool_that_changes_its_arguments_does_not_change_the_reported_call(server, session):
    args = {"paths": ["a.py"]}
    go = session.before("Read", args)
    args["paths"].append("b.py")
    session.after(go, result="ok")

    assert [asked.turn["args"] for asked in server.requests_to("POST", "turns/")] == [
        {"paths": ["a.py"]}
    ] * 2


def test_the_callback_gets_an_escalation_once(server):
    server.answer_turn = lambda _: (200, escalated(unknown="ignored"))
    escalations = []
    with Session("x", url=server.url, key="k", on_escalation=escalations.append) as session:
        go = session.before("Bash")
        session.after(go, result="done")
        session.say("On with it.")

    assert escalations == [Escalation(**ESCALATION)]
    assert go.messages == ("try another way",)


def test_a_failing_escalation_callback_breaks_nothing(server, caplog):
    server.answer_turn = lambda _: (200, escalated())

    def fail(_):
        raise ValueError("no stronger model")

    with Session("x", url=server.url, key="k", on_escalation=fail) as session:
        assert session.before("Bash").run

    assert "on_escalation callback failed" in caplog.text


def test_a_session_without_the_callback_takes_the_message_all_the_same(server, session):
    server.answer_turn = lambda _: (200, escalated())

    assert session.say("hello") == ("try another way",)


@pytest.mark.parametrize("fail", ["close", None, True])
def test_an_unknown_fail_is_refused_at_once_and_not_in_the_first_outage(fail):
    with pytest.raises(ValueError, match="fail is 'open' or 'closed', not"):
        away(fail=fail)


def test_a_sub_agent_fails_closed_as_its_parent_does():
    with away(fail="closed") as session, session.child("reader") as child:
        assert not child.before("Bash", {"command": "ls"}).run


@pytest.mark.parametrize("args", [["a.py"], "a.py", 7])
def test_arguments_that_are_no_object_are_reported_as_input(server, session, args):
    """A model may write any JSON."""
    assert session.before("read_file", args).run

    assert server.requests_to("POST", "turns/")[0].turn["args"] == {"input": args}


@pytest.mark.parametrize(
    ("content", "text"), [(None, ""), (7, "7"), ([{"text": "hi"}], "[{'text': 'hi'}]")]
)
def test_what_is_said_in_another_form_is_reported_as_text(server, session, content, text):
    session.say(content)

    assert server.requests_to("POST", "turns/")[0].turn["content"] == text

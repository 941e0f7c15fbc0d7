"""A recorded run imported from a file: shown like a live run, without cards, notices or costs."""

import json
import pickle
from datetime import timedelta
from uuid import UUID

import pytest
from rest_framework.test import APIClient

from missioncontrol.accounts import services as accounts
from missioncontrol.accounts.models import Membership, Project
from missioncontrol.api.otlp.decoding import MAX_RECORDS
from missioncontrol.audit import erasing
from missioncontrol.audit.checking import verify
from missioncontrol.audit.erasing import erase_run
from missioncontrol.clock import now
from missioncontrol.costs.models import Spend
from missioncontrol.decisions.models import Decision
from missioncontrol.decisions.rows import board_snapshot, instance_totals
from missioncontrol.detection import sandbox
from missioncontrol.detection.models import Recording
from missioncontrol.notify.models import Delivery, Notice
from missioncontrol.runs.models import JournalRow, ModelCall, Run, Turn
from tests.build import NOON, a_run
from tests.guard import transcripts
from tests.otlp.build import a_log, a_span, logs, spans

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("in_this_process")]

ERROR = "ModuleNotFoundError: no module 'app.tokens'"
SECRET = "ghp_" + "a1B2" * 9


def turn(command="pytest -q", **fields):
    return {"role": "assistant", "tool": "Bash", "args": {"command": command}, **fields}


def a_file(*turns):
    return "\n".join(json.dumps(one) for one in turns).encode()


def a_stuck_file():
    """Four calls that fail alike, half an hour apart, with what each cost."""
    began = NOON - timedelta(days=400)
    return a_file(
        {"run": "night-shift", "goal": "mend the tokens"},
        *(
            turn(
                error=ERROR,
                agent="coder",
                cost_usd="0.25",
                ts=(began + timedelta(minutes=30 * n)).isoformat(),
            )
            for n in range(4)
        ),
    )


def send(client, body, *, name="night.jsonl", query=""):
    return client.generic(
        "POST",
        f"/api/v1/recordings/?name={name}{query}",
        body,
        content_type="application/octet-stream",
    )


@pytest.fixture
def in_this_process(monkeypatch):
    """Read and judge here, what goes in and out pickled as between two processes.

    To start them takes longer than the rest of a test: test_recording_limits.py does.
    """

    def call(function, *args, **_):
        function, args = through_a_pipe((function, args))
        return through_a_pipe(function(*args))

    def through_a_pipe(value):
        return pickle.loads(pickle.dumps(value))  # noqa: S301 - our own

    monkeypatch.setattr(sandbox, "run_limited", call)


@pytest.fixture
def imported(as_person, operator):
    response = send(as_person(operator), a_stuck_file())
    assert response.status_code == 201, response.content
    return response.json()


def test_it_becomes_an_ended_run_with_its_own_times_and_cost(imported):
    run = Run.objects.get(pk=imported["run"])

    assert (run.name, run.goal, run.agent, run.status) == (
        "night-shift",
        "mend the tokens",
        "coder",
        "completed",
    )
    assert run.started_at == NOON - timedelta(days=400)
    assert run.ended_at - run.started_at == timedelta(minutes=90)
    assert (str(run.meters.cost_usd), run.meters.last_seq) == ("1.000000", 3)


def test_it_is_listed_by_when_it_ran_not_by_when_it_was_imported(as_person, owner, project):
    live = a_run(project)
    imported = send(as_person(owner), a_stuck_file()).json()

    rows = as_person(owner).get("/api/v1/runs/").json()["results"]

    assert [row["id"] for row in rows] == [str(live.id), imported["run"]]


def test_the_same_engine_judges_it_and_says_where_it_would_have_asked(imported):
    (alarm,) = imported["alarms"]
    run = Run.objects.get(pk=imported["run"])

    assert (alarm["turn"], alarm["kind"], alarm["until"]) == (2, "exact_repeat", None)
    assert [point[0] for point in run.meters.tape][2:] == [1.0, 1.0]
    assert Turn.objects.get(run=run, seq=2).detector == alarm["detector"]


def test_an_import_opens_no_card_sends_no_notice_and_costs_nothing(imported, project):
    assert not Decision.objects.exists()
    assert not Notice.objects.exists()
    assert not Delivery.objects.exists()
    assert not Spend.objects.exists()
    assert not ModelCall.objects.exists()
    assert instance_totals().cost_usd == 0
    assert board_snapshot(project.id, at=now()).runs == ()


def test_the_audit_log_names_who_imported_it_and_verifies(imported, as_person, viewer, project):
    rows = as_person(viewer).get("/api/v1/audit/?type=run.imported").json()["results"]

    assert [(row["by"], row["payload"]["file"]) for row in rows] == [("olu", "night.jsonl")]
    assert verify(projects=[project.id]).ok


def test_the_same_file_is_not_stored_twice(imported, as_person, owner):
    again = send(as_person(owner), a_stuck_file(), name="copy.jsonl")

    assert again.status_code == 200
    assert again.json()["run"] == imported["run"]
    assert Run.objects.count() == 1


def test_an_imported_run_takes_no_interventions(imported, as_person, owner):
    client = as_person(owner)
    address = f"/api/v1/runs/{imported['run']}/"
    tap = {"key": "k", "action": "terminate", "version": 0}

    refused = client.post(f"{address}interventions/", tap, format="json")

    assert refused.status_code == 409
    assert "imported recording" in refused.json()["detail"]
    assert client.patch(address, {"mode": "warn"}, format="json").status_code == 409
    assert {"terminate", "inject", "pause"} <= client.get(address).json()["unavailable"].keys()


def test_no_agent_can_resume_an_imported_run(imported, project, client):
    key = accounts.mint_agent_key(project=project, name="theirs", at=NOON).secret

    answer = client.patch(
        f"/api/v1/runs/{imported['run']}/",
        {"status": "failed"},
        content_type="application/json",
        headers={"Authorization": f"Bearer {key}"},
    )

    assert answer.status_code == 404


def test_history_lists_it_with_its_mark_and_finds_it_by_that(imported, as_person, viewer):
    client = as_person(viewer)

    (row,) = client.get("/api/v1/runs/?q=is:imported").json()["results"]
    sums = client.get("/api/v1/runs/totals/").json()

    assert (row["id"], row["imported"]) == (imported["run"], True)
    assert client.get("/api/v1/runs/?q=-is:imported").json()["results"] == []
    assert (sums["cost_usd"], sums["imported"], sums["imported_cost_usd"]) == ("0", 1, "1")


def test_a_browser_sends_it_with_its_token_and_a_foreign_page_has_none(operator):
    client = APIClient(enforce_csrf_checks=True)
    client.force_login(operator)
    token = "a" * 32
    client.cookies["mc_csrf"] = token
    address = "/api/v1/recordings/?name=night.jsonl"
    sent = {"data": a_stuck_file(), "content_type": "application/octet-stream"}

    assert client.post(address, **sent).status_code == 403
    assert client.post(address, **sent, headers={"X-CSRFToken": token}).status_code == 201


def test_secrets_in_it_are_masked(as_person, operator):
    body = a_file(turn(result=f"token {SECRET}", error=None))

    run = send(as_person(operator), body).json()["run"]

    assert SECRET not in Turn.objects.get(run=run).result


def test_a_viewer_may_not_import_and_a_stranger_finds_no_project(
    as_person, viewer, stranger, project
):
    assert send(as_person(viewer), a_stuck_file()).status_code == 403
    theirs = send(as_person(stranger), a_stuck_file(), query=f"&project={project.id}")
    assert theirs.status_code == 404


@pytest.mark.parametrize(
    ("body", "words"),
    [
        (b"", "got an empty file"),
        (b"\na,b,c\n1,2,3\n", "expected a transcript of an agent, as JSON or as text"),
        (b"\na,b,c\n1,2,3\n", "got 'a,b,c' in line 2"),
        (b'{"tables": []}\n', "in line 1"),
        (b'{"run": "empty"}\n', "contains no turns"),
        (b'{"resourceSpans": []}\nnot json\n', "Line 2: expected an OTLP request"),
        (b'{"resourceSpans": []}\n', "no turn of an agent"),
    ],
)
def test_a_file_that_is_no_recording_is_refused_with_a_reason_and_not_stored(
    body, words, as_person, operator
):
    response = send(as_person(operator), body)

    assert response.status_code == 400, response.content
    assert words in response.json()["detail"]
    assert not Run.objects.exists()


def test_lines_that_cannot_be_read_are_counted_and_named(as_person, operator):
    answer = send(as_person(operator), a_stuck_file() + b'\nbroken\n{"weather": "fine"}').json()

    assert (answer["turns"], answer["unreadable"]) == (4, 2)
    assert answer["unread"] == [
        {"entry": 6, "why": "not_json"},
        {"entry": 7, "why": "no_turn"},
    ]


def test_a_claude_code_transcript_is_named_by_what_was_asked(as_person, operator):
    rows = [
        {
            "type": "user",
            "sessionId": "0198",
            "timestamp": "2026-10-01T09:00:00Z",
            "message": {"role": "user", "content": "Fix the login test"},
        },
        {
            "type": "assistant",
            "sessionId": "0198",
            "timestamp": "2026-10-01T09:00:04Z",
            "message": {
                "id": "msg_1",
                "role": "assistant",
                "model": "claude-sonnet-4-5",
                "usage": {"input_tokens": 1000, "output_tokens": 100},
                "content": [
                    {
                        "type": "tool_use",
                        "id": "tu_1",
                        "name": "Bash",
                        "input": {"command": "pytest"},
                    }
                ],
            },
        },
        {
            "type": "user",
            "sessionId": "0198",
            "timestamp": "2026-10-01T09:00:09Z",
            "message": {
                "role": "user",
                "content": [{"type": "tool_result", "tool_use_id": "tu_1", "content": "1 passed"}],
            },
        },
    ]

    answer = send(as_person(operator), a_file(*rows)).json()
    run = Run.objects.get(pk=answer["run"])

    assert (answer["form"], run.name, run.agent) == (
        "claude-code",
        "Fix the login test",
        "claude-code",
    )
    assert run.meters.cost_usd > 0
    assert run.meters.usage_source == "transcript"


@pytest.mark.parametrize(
    ("form", "rows"),
    [
        ("claude-code", transcripts.claude_code(5)),
        ("codex", transcripts.codex(5)),
        ("gemini", transcripts.gemini(5)),
    ],
)
def test_an_agents_own_session_file_is_imported_and_its_loop_found(as_person, operator, form, rows):
    answer = send(as_person(operator), a_file(*rows)).json()

    assert (answer["form"], answer["unreadable"]) == (form, 0)
    assert [alarm["kind"] for alarm in answer["alarms"]] == ["exact_repeat"]


def test_a_transcript_written_for_people_is_imported_and_its_loop_found(as_person, operator):
    step = "⏺ Bash(make ferry)\n  ⎿  Error: no planks\n\n"

    response = send(as_person(operator), f"> build it\n\n{4 * step}".encode(), name="ferry.md")

    assert response.status_code == 201, response.content
    row = response.json()
    assert (row["form"], row["run_name"], row["turns"]) == ("transcript", "ferry", 5)
    assert row["alarms"]


def test_an_export_of_telemetry_is_one_run(as_person, operator):
    body = logs(
        a_log("claude_code.user_prompt", **{"session.id": "s1", "prompt": "Fix it"}),
        a_log(
            "claude_code.tool_result",
            **{"session.id": "s1", "tool_name": "Bash", "success": "true", "tool_use_id": "t1"},
        ),
    )

    response = send(as_person(operator), json.dumps(body).encode(), name="export.json")

    assert response.status_code == 201, response.content
    assert (response.json()["form"], response.json()["run_name"]) == ("otlp", "Fix it")


def test_it_can_be_erased_and_imported_again(imported, as_person, operator, project):
    erase_run(UUID(imported["run"]), by="ana", reason="asked to", at=now())

    recording = Recording.objects.get(run=imported["run"])
    assert (recording.file, recording.sha256, recording.alarms[0]["summary"]) == ("", "", "")
    assert verify(projects=[project.id]).ok
    assert send(as_person(operator), a_stuck_file()).status_code == 201


def test_its_words_are_kept_from_the_day_it_was_imported(imported, project):
    Project.objects.filter(pk=project.pk).update(keep_words_days=30)

    erasing.erase_old_words(at=now() + timedelta(days=29))
    assert Turn.objects.filter(run=imported["run"], error="").count() == 0
    assert Turn.objects.get(run=imported["run"], seq=0).error == ERROR
    erasing.erase_old_words(at=now() + timedelta(days=31))
    assert Turn.objects.get(run=imported["run"], seq=0).error is None
    assert Recording.objects.get(run=imported["run"]).file == ""


def test_a_turn_dated_in_the_future_gets_the_time_of_the_import(as_person, operator, project):
    body = a_file(turn(ts="2199-01-01T00:00:00Z"))

    run = Run.objects.get(pk=send(as_person(operator), body).json()["run"])

    assert run.ended_at <= now()
    Project.objects.filter(pk=project.pk).update(keep_words_days=30)
    assert erasing.erase_old_words(at=now() + timedelta(days=31)) == 1


def test_a_turn_too_large_for_its_columns_counts_as_unreadable(as_person, operator):
    body = a_file(turn(), turn(key="k" * 201), turn(usage={"input": 10**11, "output": 1}))

    answer = send(as_person(operator), body).json()

    assert (answer["turns"], answer["unreadable"]) == (1, 2)


def test_a_person_demoted_during_an_import_imports_nothing(
    as_person, operator, monkeypatch, project
):
    judged = sandbox.judge_recording

    def judge(*given):
        Membership.objects.filter(user=operator).update(role="viewer")
        return judged(*given)

    monkeypatch.setattr(sandbox, "judge_recording", judge)

    assert send(as_person(operator), a_stuck_file()).status_code == 403
    assert not Run.objects.exists()


def test_a_project_archived_during_an_import_receives_nothing(
    as_person, operator, monkeypatch, project
):
    judged = sandbox.judge_recording

    def judge(*given):
        Project.objects.filter(pk=project.pk).update(archived_at=NOON)
        return judged(*given)

    monkeypatch.setattr(sandbox, "judge_recording", judge)

    assert send(as_person(operator), a_stuck_file()).json()["code"] == "project_archived"
    assert not Run.objects.exists()


def test_a_run_without_a_price_is_counted_among_those_whose_cost_is_summed(
    as_person, operator, viewer
):
    send(as_person(operator), a_file(turn(model="unheard-of", usage={"input": 5, "output": 5})))

    sums = as_person(viewer).get("/api/v1/runs/totals/").json()

    assert Run.objects.get().meters.unpriced_calls == 1
    assert (sums["runs"], sums["turns"], sums["unpriced_runs"]) == (1, 1, 0)


A_CALL = {"model": "claude-sonnet-4-5", "input_tokens": 100, "output_tokens": 10}


def of_session(event, **fields):
    return a_log(event, **{"session.id": "s1"}, **fields)


def imported_export(client, *bodies):
    body = "\n".join(json.dumps(one) for one in bodies).encode()
    response = send(client, body, name="export.jsonl")
    assert response.status_code == 201, response.content
    return Run.objects.get(pk=response.json()["run"])


def entered(run):
    rows = JournalRow.objects.filter(run=run, type="cost.attributed").order_by("seq")
    return [json.loads(row.payload) for row in rows]


def test_every_model_call_of_an_export_counts_also_the_last_and_at_no_persons_turn(
    as_person, operator
):
    body = logs(
        of_session("claude_code.user_prompt", prompt="Fix it"),
        of_session("claude_code.api_request", cost_usd=0.5, request_id="r1", **A_CALL),
        of_session("claude_code.api_request", cost_usd=0.25, request_id="r2", **A_CALL),
        of_session("claude_code.user_prompt", prompt="And that"),
        of_session("claude_code.api_request", cost_usd=0.125, request_id="r3", **A_CALL),
    )

    run = imported_export(as_person(operator), body)

    assert (str(run.meters.cost_usd), run.meters.usage_source) == ("0.875000", "logs")
    assert not Turn.objects.filter(run=run, cost_usd__isnull=False).exists()
    assert [one["source"] for one in entered(run)] == ["logs"] * 3


def test_a_call_in_both_spans_and_logs_counts_once(as_person, operator):
    attributes = {"session.id": "s1", "cost_usd": 0.5, **A_CALL}
    body = logs(
        of_session("claude_code.user_prompt", prompt="Fix it"),
        of_session("claude_code.api_request", cost_usd=0.5, request_id="r1", **A_CALL),
    )
    traces = spans(a_span("claude_code.llm_request", attributes), service="claude-code")

    run = imported_export(as_person(operator), body, traces)

    assert str(run.meters.cost_usd) == "0.500000"


def test_a_model_call_is_attached_to_the_turn_it_led_to(as_person, operator):
    def acts(who):
        return {"gen_ai.conversation.id": "c1", "gen_ai.agent.name": who}

    def asks(who, cost):
        used = {"gen_ai.usage.input_tokens": 10, "gen_ai.usage.cost": cost}
        return {"gen_ai.operation.name": "chat", **acts(who), **used}

    def runs(who):
        called = {"gen_ai.tool.name": "search", "gen_ai.tool.call.id": f"call-{who}"}
        return {"gen_ai.operation.name": "execute_tool", **acts(who), **called}

    body = spans(
        a_span("chat", asks("writer", 0.5), at_s=1),
        a_span("chat", asks("critic", 0.25), at_s=2),
        a_span("execute_tool", runs("writer"), at_s=3),
        a_span("execute_tool", runs("critic"), at_s=4),
    )

    run = imported_export(as_person(operator), body)

    placed = Turn.objects.filter(run=run).order_by("seq").values_list("agent", "cost_usd")
    assert [(who, float(cost)) for who, cost in placed] == [("writer", 0.5), ("critic", 0.25)]
    assert [(one["agent"], one["turn_seq"]) for one in entered(run)] == [
        ("writer", 0),
        ("critic", 1),
    ]


def test_a_call_is_shown_once_at_a_tool_that_was_proposed_and_then_ran(as_person, operator):
    asked = {
        "gen_ai.conversation.id": "c1",
        "gen_ai.operation.name": "chat",
        "gen_ai.usage.input_tokens": 10,
        "gen_ai.usage.cost": 0.5,
        "gen_ai.output.messages": json.dumps(
            [
                {
                    "role": "assistant",
                    "parts": [
                        {"type": "tool_call", "id": "t1", "name": "search", "arguments": {"q": 1}}
                    ],
                }
            ]
        ),
    }
    ran = {
        "gen_ai.conversation.id": "c1",
        "gen_ai.operation.name": "execute_tool",
        "gen_ai.tool.name": "search",
        "gen_ai.tool.call.id": "t1",
    }

    run = imported_export(
        as_person(operator),
        spans(a_span("chat", asked, at_s=1), a_span("execute_tool", ran, at_s=3)),
    )

    (row,) = Turn.objects.filter(run=run)
    assert (row.phase, float(row.cost_usd), run.meters.tool_calls) == ("done", 0.5, 1)
    assert float(run.meters.cost_usd) == 0.5


def test_turns_past_a_recordings_limit_are_counted_and_dropped(as_person, operator):
    body = a_file(*[turn()] * (sandbox.MAX_TURNS + 5))

    response = send(as_person(operator), body)

    assert response.status_code == 400, response.content
    assert f"this one has {sandbox.MAX_TURNS + 5}" in response.json()["detail"]


def test_an_export_with_too_many_requests_is_refused(as_person, operator):
    response = send(as_person(operator), b'{"resourceSpans":[]}\n' * (MAX_RECORDS + 1))

    assert response.status_code == 400, response.content
    assert f"At most {MAX_RECORDS} records" in response.json()["detail"]


@pytest.mark.parametrize(
    ("call", "given"),
    [
        ("Action: look\nAction Input: {'at': b'x'}\nObservation: fog\n", "{'at': b'x'}"),
        ("[DO] look(at=b'x')\n[SEE] fog\n", "at=b'x'"),
    ],
)
def test_arguments_that_are_not_json_become_a_text(as_person, operator, call, given):
    response = send(as_person(operator), call.encode() * 3, name="walk.log")

    assert response.status_code == 201, response.content
    assert Turn.objects.first().args == {"input": given}

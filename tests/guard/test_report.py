from __future__ import annotations

import io
import json
import os
import re
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from html import escape
from pathlib import Path
from typing import Any

import pytest

from guard.cli import main
from guard.formats import Recording
from guard.printing import printable, progress
from guard.report.command import session_folders
from guard.report.page import as_page
from guard.report.totals import EarlierFiles, Loop, Session, Totals, dollars, look_through
from guard.turn import Turn, Usage
from tests.guard import transcripts
from tests.guard.build import a_call, a_message, a_user
from tests.guard.transcripts import write_lines

NOON = datetime(2026, 9, 21, 12, tzinfo=UTC)
FAILING = a_call("Bash", error="boom", command="make")


def a_recording(*turns: Turn | None, **fields: Any) -> Recording:
    return Recording(run="r", turns=turns, **fields)


def a_read(name: str, **fields: Any) -> Turn:
    return a_call("Read", f"text of {name}, never seen before", path=name, **fields)


def report(*argv: object) -> int:
    return main(["report", *(str(word) for word in argv)])


def as_json(capsys, *argv: object) -> dict[str, Any]:
    assert report(*argv, "--json") == 0
    found: dict[str, Any] = json.loads(capsys.readouterr().out)
    return found


# --- one session -------------------------------------------------------------


def test_a_loop_wastes_its_evidence_and_what_follows_until_something_new_comes():
    loop, *others = look_through(
        a_recording(a_read("a"), *[FAILING] * 5, a_read("b"), a_read("c"))
    ).loops

    assert (loop.first, loop.alarm, loop.turns, others) == (1, 3, 5, [])


def test_a_loop_ends_where_a_person_speaks():
    (loop,) = look_through(a_recording(*[FAILING] * 4, a_user("Stop."), a_read("b"))).loops

    assert loop.turns == 4


def test_every_loop_of_a_session_is_found():
    other = a_call("Bash", error="no such target", command="make web")
    loops = look_through(a_recording(*[FAILING] * 3, a_user(), *[other] * 4)).loops

    assert [(loop.first, loop.turns) for loop in loops] == [(0, 3), (4, 4)]


def test_healthy_turns_between_the_repeats_are_not_called_wasted():
    between = [a_message(f"Thinking about {word}.") for word in ("locks", "paths")]
    (loop,) = look_through(a_recording(FAILING, between[0], FAILING, between[1], FAILING)).loops

    assert loop.turns == 3


def test_what_the_judge_lets_go_is_no_loop():
    polls = [a_call("Bash", f"{n} failed", command="pytest -q") for n in (3, 2, 1)]

    assert look_through(a_recording(*polls)).loops == ()


def test_unreadable_positions_keep_the_places_right():
    session = look_through(a_recording(None, FAILING, None, FAILING, FAILING, malformed=2))

    assert (session.loops[0].first, session.turns, session.malformed) == (1, 3, 2)


# --- its dollars -------------------------------------------------------------


def test_a_model_call_behind_wasted_turns_costs_once_wherever_its_price_stands():
    def says_and_does(n: int) -> list[Turn]:
        paid: dict[str, Any] = {"call_id": f"c{n}", "cost_usd": Decimal(1)}
        return [
            a_message("abcdefgh"[n] * 9, **paid),
            a_call("Bash", error="boom", command="make", **paid),
        ]

    turns = [turn for n in range(3) for turn in says_and_does(n)]
    session = look_through(a_recording(*turns))

    assert (session.usd, session.loops[0].usd) == (3, 3)


def test_what_has_no_price_is_counted_apart():
    used = Usage(input=100)
    unknown = a_call("Bash", error="boom", command="make", usage=used, model="no-such-model")
    session = look_through(a_recording(*[unknown] * 3))

    assert (session.usd, session.loops[0].usd, session.unpriced_calls) == (None, None, 3)


def test_a_resumed_session_is_counted_once(tmp_path, capsys):
    for place, times in enumerate((4, 6)):
        path = write_lines(tmp_path / f"{place}.jsonl", transcripts.claude_code(times))
        os.utime(path, (1000 + place, 1000 + place))

    found = as_json(capsys, tmp_path)

    # Six tool calls, six texts beside them, and the person's turn told twice.
    assert (found["sessions"], found["turns"], found["loops"]) == (2, 14, 2)
    assert Decimal(found["cost_usd"]) == 6 * Decimal("0.008055")
    assert Decimal(found["wasted_usd"]) <= Decimal(found["cost_usd"])


def test_a_loop_told_whole_in_an_earlier_file_is_not_found_again():
    earlier, turns = (
        EarlierFiles(),
        [a_call("Bash", error="boom", command="make", key=f"k{n}") for n in "abc"],
    )

    assert len(look_through(a_recording(*turns), earlier=earlier).loops) == 1
    assert look_through(a_recording(*turns), earlier=earlier).loops == ()


# --- many sessions -----------------------------------------------------------


@pytest.fixture
def sessions(tmp_path: Path) -> Path:
    """Sessions of three agents, a turn file, and files that are none."""
    for name, rows in {
        ".claude/projects/app/one.jsonl": transcripts.claude_code(5),
        ".codex/sessions/2026/11/21/rollout.jsonl": transcripts.codex(4),
        ".gemini/tmp/hash/chats/session.jsonl": transcripts.gemini(4),
    }.items():
        (tmp_path / name).parent.mkdir(parents=True)
        write_lines(tmp_path / name, rows)
    return tmp_path


def test_it_reads_what_three_agents_keep(sessions, capsys):
    found = as_json(capsys, sessions)

    assert (found["sessions"], found["loops"], found["sessions_with_loops"]) == (3, 3, 3)
    assert found["unpriced_sessions"] == 0
    assert 0 < Decimal(found["wasted_usd"]) <= Decimal(found["cost_usd"])


def test_without_a_path_it_looks_where_the_agents_keep_them(sessions, capsys, monkeypatch):
    monkeypatch.setenv("HOME", str(sessions))

    assert len(session_folders(sessions)) == 3
    assert as_json(capsys)["sessions"] == 3


def test_malformed_lines_and_other_files_are_counted_never_fatal(sessions, capsys):
    folder = sessions / ".claude/projects/app"
    with (folder / "one.jsonl").open("ab") as file:
        file.write(b'{"type": "assistant", "mess\n\xff\xfe\x00\n\n')
    (folder / "settings.json").write_text('{"theme": "dark"}')
    (folder / "broken.jsonl").write_bytes(bytes(range(256)) * 40)

    found = as_json(capsys, sessions)

    assert (found["malformed_lines"], found["skipped_files"], found["sessions"]) == (3, 2, 3)


def test_only_the_ten_worst_are_listed_the_worst_first(tmp_path, capsys):
    for place in range(12):
        write_lines(tmp_path / f"{place}.jsonl", transcripts.codex(3 + place))

    found = as_json(capsys, tmp_path)

    wasted = [Decimal(row["wasted_usd"]) for row in found["worst"]]
    assert (found["loops"], len(wasted)) == (12, 10)
    assert wasted == sorted(wasted, reverse=True)
    assert found["worst"][0]["path"] == str(tmp_path / "11.jsonl")


def test_each_of_the_worst_says_what_repeated_and_where(sessions, capsys):
    row = as_json(capsys, sessions / ".codex")["worst"][0]

    assert row["call"] == 'exec_command {"cmd":"cat app/tokens.py"}'
    assert row["summary"] == "It read the same thing 3 times and got the same error."
    assert (row["first_turn"], row["alarm_turn"], row["run"]) == (1, 3, "01a1fff0")
    assert row["at"].startswith("2026-11-21T21:08")


def test_as_text_it_says_the_same_in_a_page(sessions, capsys):
    assert report(sessions) == 0

    shown = capsys.readouterr().out
    assert "3 sessions" in shown
    assert "3 loops in 3 sessions" in shown
    assert "The 3 worst" in shown
    assert "not counted" not in shown


def test_as_text_it_says_what_it_left_out(sessions, capsys):
    rows = [{**row, "type": row["type"]} for row in transcripts.claude_code(3)]
    for row in rows:
        row.get("message", {}).pop("usage", None)
    write_lines(sessions / ".claude/projects/app/free.jsonl", rows)
    (sessions / ".claude/projects/app/x.json").write_text("{}")

    assert report(sessions) == 0
    shown = capsys.readouterr().out
    assert "1 session without a known price: its dollars are not counted" in shown
    assert "1 file without a session in a known form" in shown


def test_what_the_judge_dismissed_is_no_loop_but_is_told(tmp_path, capsys):
    file = write_lines(tmp_path / "a.jsonl", transcripts.fewer_failing())
    policy = tmp_path / "p.toml"
    policy.write_text('detectors = ["loopguard"]\n')

    assert report(file, "--policy", policy) == 0
    shown = capsys.readouterr().out
    assert "No loops found." in shown
    assert "1 suspected loop dismissed by the judge, not counted" in shown
    assert as_json(capsys, file, "--policy", policy)["dismissed"] == 1


def test_sessions_without_a_loop_are_good_news(tmp_path, capsys):
    write_lines(tmp_path / "a.jsonl", transcripts.claude_code(1))

    assert report(tmp_path) == 0
    assert "No loops found." in capsys.readouterr().out


def test_a_folder_without_sessions_is_said_to_be_one(tmp_path, capsys):
    assert report(tmp_path) == 1
    shown = capsys.readouterr().out
    assert "No sessions found" in shown
    assert "Agents keep them in ~/.claude/projects, ~/.codex/sessions, ~/.gemini/tmp" in shown


@pytest.mark.parametrize("argv", [["nowhere"], [".", "--preset", "brokre"]])
def test_a_wrong_path_or_preset_is_an_error_with_a_sentence(argv, capsys):
    assert report(*argv) == 2
    assert capsys.readouterr().err.startswith("guard report: ")


def test_another_policy_finds_other_loops(sessions, tmp_path, capsys):
    policy = tmp_path / "lax.toml"
    policy.write_text("detectors = []\n")

    assert as_json(capsys, sessions, "--policy", policy)["loops"] == 0


def test_hostile_text_in_a_transcript_cannot_break_the_terminal(tmp_path, capsys):
    rows = transcripts.codex(4)
    hostile = json.dumps({"cmd": "\x1b]0;owned\x07\x1b[2J\u202e\r\nrm"})
    for row in rows:
        if "arguments" in row["payload"]:
            row["payload"]["arguments"] = hostile
    rows[0]["payload"]["id"] = "\x1b[31mrun"
    write_lines(tmp_path / "a\x1b[2J.jsonl", rows)

    assert report(tmp_path) == 0
    shown = capsys.readouterr().out
    assert "1 loop in 1 session" in shown
    assert not {"\x1b", "\x07", "\r", "\u202e"} & set(shown)


def test_a_long_text_becomes_one_short_line():
    assert printable("word " * 1000, max_length=20) == "word word word word…"


# --- the bar -----------------------------------------------------------------


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_a_person_at_a_terminal_sees_how_far_it_is():
    out = Terminal()

    assert list(progress("abc", total=3, what="sessions", out=out)) == ["a", "b", "c"]
    assert "0/3 sessions" in out.getvalue()
    assert out.getvalue().endswith("\r\x1b[K")


def test_a_total_that_is_not_known_shows_as_such():
    out = Terminal()

    assert list(progress([1], total=0, what="runs", out=out)) == [1]
    assert "0/? runs" in out.getvalue()


def test_a_pipe_sees_no_bar():
    out = io.StringIO()

    assert list(progress("abc", total=3, what="sessions", out=out)) == ["a", "b", "c"]
    assert out.getvalue() == ""


# --- as a page -------------------------------------------------------------------


def a_session(*loops: Loop, turns: int = 10, usd: str | None = "2", began: datetime | None = NOON):
    return Session(
        run="r",
        turns=turns,
        usd=None if usd is None else Decimal(usd),
        unpriced_calls=0,
        malformed=0,
        loops=loops,
        began=began,
    )


def a_loop(*, turns: int = 3, usd: str | None = "0.5", at: datetime | None = NOON, **fields: str):
    finding = {
        "detector": "repeat",
        "summary": "Identical output 3 times",
        "call": "make",
        **fields,
    }
    cost = None if usd is None else Decimal(usd)
    return Loop(first=1, alarm=3, turns=turns, usd=cost, at=at, **finding)


def page_of(*sessions: Session) -> str:
    totals = Totals()
    for session in sessions:
        totals.add(session, Path("one.jsonl"))
    return as_page(totals)


def test_a_page_says_what_the_text_says(sessions, tmp_path, capsys):
    page = tmp_path / "loops.html"
    assert report(sessions, "--html", page) == 0
    assert capsys.readouterr().out == f"Written to {page}\n"
    totals = as_json(capsys, sessions)

    shown = page.read_text()
    for loop in totals["worst"]:
        assert escape(loop["summary"]) in shown
    assert f"<dd>{totals['loops']:,}</dd>" in shown


def test_a_page_loads_nothing_and_runs_nothing(sessions, tmp_path):
    report(sessions, "--html", tmp_path / "loops.html")
    shown = (tmp_path / "loops.html").read_text()

    assert not re.search(r"<script|src=|href=|url\(|@import|https?:", shown)


def test_what_an_agent_wrote_is_text_on_the_page_never_markup():
    hostile = "<script>alert(1)</script><img src=x onerror=alert(1)>"

    shown = page_of(a_session(a_loop(call=hostile, summary=hostile)))

    assert "<script" not in shown
    assert "<img" not in shown
    assert escape(hostile) in shown


def test_a_bar_is_a_day_with_its_wasted_part():
    shown = page_of(a_session(a_loop()), a_session(began=NOON + timedelta(days=2)))

    assert re.findall(r"<title>(\d.*?)</title>", shown) == [
        "21 Sep: $0.50 wasted of $2.00",
        "22 Sep: $0.00 wasted of $0.00",
        "23 Sep: $0.00 wasted of $2.00",
    ]


def test_a_day_is_named_below_the_middle_of_its_bar():
    shown = page_of(a_session(), a_session(began=NOON + timedelta(days=9)))

    assert re.findall(r'left:(.*?)%">(.*?)</span>', shown)[::2] == [
        ("5.0", "21 Sep"),
        ("45.0", "25 Sep"),
        ("95.0", "30 Sep"),
    ]


def test_less_than_a_cent_is_not_free():
    assert [dollars(Decimal(usd)) for usd in ("0", "1e-8", "0.0042", "0.01", "1234.5")] == [
        "$0.00",
        "under $0.0001",
        "$0.0042",
        "$0.01",
        "$1,234.50",
    ]


def test_bars_become_weeks_and_months_before_they_become_hairs():
    def headings(days):
        return re.search(r"<h2>Dollars a (\w+)</h2>", page_of(a_session(), a_session(began=days)))

    assert headings(NOON + timedelta(days=60))[1] == "day"
    assert headings(NOON + timedelta(days=100))[1] == "week"
    assert headings(NOON + timedelta(days=1000))[1] == "month"


def test_where_most_sessions_have_no_price_turns_are_drawn():
    shown = page_of(a_session(a_loop(usd=None), usd=None), a_session(a_loop(usd=None), usd=None))

    assert "<h2>Turns a day</h2>" in shown
    assert "3 turns wasted of 10 turns" not in shown  # both of one day
    assert "6 turns wasted of 20 turns" in shown
    assert "Wasted dollars" not in shown


def test_sessions_that_tell_no_time_have_figures_and_no_chart():
    shown = page_of(a_session(a_loop(at=None), began=None))

    assert "<h2>Dollars a" not in shown
    assert "Wasted turns" in shown


def test_a_loop_counts_where_its_session_does():
    shown = page_of(a_session(a_loop(at=NOON + timedelta(days=1))))

    assert re.findall(r"<title>(\d.*?)</title>", shown) == ["21 Sep: $0.50 wasted of $2.00"]


def test_a_clock_that_was_never_set_stretches_no_chart():
    shown = page_of(a_session(), a_session(began=datetime(1, 1, 1, tzinfo=UTC)))

    assert shown.count("<title>") == 2  # the page's own, and one day's


def test_half_a_character_is_no_reason_for_no_page(tmp_path):
    text = "\n".join(map(json.dumps, transcripts.claude_code(5))).replace("tokens.py", "\\ud83d.py")
    (tmp_path / "one.jsonl").write_text(text)

    assert report(tmp_path, "--html", tmp_path / "loops.html") == 0
    assert "?.py" in (tmp_path / "loops.html").read_text()


def test_a_page_that_cannot_be_written_is_said_to_be_one(sessions, tmp_path, capsys):
    assert report(sessions, "--html", tmp_path / "nowhere" / "loops.html") == 2
    assert "No such file or directory" in capsys.readouterr().err

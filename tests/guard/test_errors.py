from __future__ import annotations

import json
from dataclasses import replace

from guard.formats import read_recording
from guard.turn import Phase
from tests.guard.build import a_call, a_message, first_trip

REFUSAL = "Error: 'NoneType' object is not iterable"
FIXES = ("return n > 0;", "return head;", "if (x) { stop(); }", "while (more) next();", "break;")


def fixes(paths=("Node.java",) * 5, error=REFUSAL):
    bodies = [f"    // try number {word}\n    {word}\n    }}" for word in FIXES]
    return [
        a_call("write_fix", error=error, path=path, text=body)
        for path, body in zip(paths, bodies, strict=True)
    ]


def pages(count=5):
    return [
        a_call("read", f"{name} says this\nand {name} says that", path=name)
        for name in ("alpha", "beta", "gamma", "delta", "omega")[:count]
    ]


def between(actions, others):
    return [turn for pair in zip(actions, others, strict=True) for turn in pair]


def test_what_is_read_between_is_no_cure_for_the_same_failure():
    assert first_trip(between(fixes(), pages())) == 4


def test_three_edits_of_one_file_refused_alike_are_a_loop_in_whatever_words():
    edits = [
        a_call("edit", error="Error: the text was not found", path="Node.java", old_string=text)
        for text in ("return n;", "if (full) stop();", "while (more)")
    ]

    assert first_trip(edits) == 2


def test_each_file_may_refuse_once():
    paths = ("Node.java", "Tree.java", "Leaf.java", "Edge.java", "Root.java")

    assert first_trip(between(fixes(paths), pages())) is None


def test_a_success_of_the_command_between_is_a_cure():
    turns = between(fixes(), pages())[:8]
    turns[4:4] = [a_call("write_fix", "written", path="Node.java", text="return 1;")]

    assert first_trip(turns) is None


def test_an_edit_between_may_be_a_cure():
    turns = between(fixes(), pages())[:8]
    turns[4:4] = [a_call("Edit", "updated", path="Helper.java", new_string="class Helper {}")]

    assert first_trip(turns) is None


def test_other_failures_between_are_steps_forward():
    errors = ("Error: no brace", "Error: no semicolon", "Error: no import") * 2
    turns = between([fixes(error=error)[place] for place, error in enumerate(errors[:5])], pages())

    assert first_trip(turns) is None


def test_seven_edits_that_change_nothing_of_a_failure_are_a_loop():
    edits = [
        a_call("Edit", "updated", path="app.py", new_string=f"connect(to={place}, wait={place})")
        for place in range(8)
    ]
    runs = [
        a_call("submit", error="ValueError: no such host", name="app", text=f"try\n  {word}\nend")
        for word in (*FIXES, "stop here", "go there", "wait a bit")
    ]

    assert first_trip(between(edits, runs)) == 13


WAYS_TO_A_PIP = (
    ("apt install python3-pip", "E: Could not open lock file /var/lib/dpkg/lock-frontend"),
    ("which pip3", "pip3 not found"),
    ("python3 -m ensurepip", "No module named ensurepip"),
    ("wget https://example.org/get-pip.py", "wget: unable to resolve host address"),
    ("curl -O https://example.org/get-pip.py", "curl: (7) Failed to connect"),
)


def ways_to_a_pip():
    return [a_call("bash", error=error, command=command) for command, error in WAYS_TO_A_PIP]


def test_five_ways_that_all_fail_are_a_loop_whatever_each_of_them_is():
    assert first_trip(ways_to_a_pip()) == 4


def test_a_success_among_the_ways_is_progress():
    turns = ways_to_a_pip()
    turns.insert(3, a_call("bash", "Python 3.11.2", command="python3 --version"))

    assert first_trip(turns) is None


def test_looking_for_one_thing_in_ever_other_words_is_a_loop():
    words = ("scat singer 1939", "scat basketball 1939", "scat 1939 team", "team of scat 1939")
    looks = [
        a_call("search", f"Could not find [{one}]. Similar: [{one[::-1]}]", query=one)
        for one in (*words, "scat victory")
    ]

    assert first_trip(looks) == 4


def test_a_sweep_that_finds_nothing_is_no_loop():
    names = ("alpha", "beta", "gamma", "delta", "omega", "sigma")
    looks = [a_call("grep", "No matches found", pattern=f"import {name}") for name in names]

    assert first_trip(looks) is None


def test_commands_that_each_answer_with_their_own_name_are_a_batch():
    names = ("filesystem", "puppeteer", "playwright", "thinking", "postgres", "calendar", "weather")
    adds = [
        a_call(
            "Bash",
            f"Added stdio server {name} with command: npx server-{name} to local config",
            command=f"tool mcp add --transport stdio {name} -- npx server-{name}",
        )
        for name in names
    ]

    assert first_trip(adds) is None


NAMES = ["alpha", "beta", "gamma", "delta", "omega", "sigma", "kappa", "theta"]
NAMES += ["lambda", "iota", "zeta", "rho", "tau", "phi", "chi", "psi"]


def with_ids(turns, name):
    return [replace(turn, call_id=name(at)) for at, turn in enumerate(turns)]


def refused_edits(count=6, of_one_answer=1):
    unread = "File has not been read yet. Read it first before writing to it."
    names = NAMES[:count]
    edits = [a_call("Edit", error=unread, path=f"/src/{name}.py", new=name) for name in names]
    return with_ids(edits, lambda at: f"msg_{at // of_one_answer}")


def test_calls_sent_side_by_side_that_are_all_refused_are_one_attempt():
    assert first_trip(refused_edits(of_one_answer=6)) is None


def test_calls_sent_one_after_the_other_that_are_all_refused_are_an_attempt_each():
    assert first_trip(refused_edits(of_one_answer=1)) == 4


def test_a_client_that_gives_a_whole_run_one_id_silences_nothing():
    reads = [a_call("read", f"lines of {name}", path=f"{name}.py") for name in NAMES]
    turns = [*reads, *refused_edits()]

    assert first_trip(with_ids(turns, lambda _: "run-1")) == first_trip(turns) == len(reads) + 4


def test_one_id_for_a_run_that_fails_from_the_start_counts_as_one_answer_for_so_many():
    assert first_trip(with_ids(refused_edits(16), lambda _: "run-1")) == 12 + 3


def test_who_asks_for_the_same_again_under_one_id_has_seen_the_answer():
    again = a_call("Read", "two lines", path="/src/alpha.py")
    turns = [again, again, *refused_edits()]

    assert first_trip(with_ids(turns, lambda _: "run-1")) == first_trip(turns) == 2 + 4


def test_what_an_agent_says_between_ends_its_answer():
    words = ("Strange.", "Is beta locked?", "On to delta then.", "Hm, omega?", "Sigma?", "No.")
    said = map(a_message, words)
    turns = [turn for pair in zip(refused_edits(), said, strict=True) for turn in pair]

    assert first_trip(with_ids(turns, lambda _: "run-1")) == first_trip(turns) == 8


def test_ids_that_begin_again_after_a_restart_are_other_answers():
    turns = with_ids(refused_edits(), lambda at: f"call_{at % 2}")

    assert first_trip(turns) == 4


def test_the_same_id_of_two_agents_is_of_two_answers():
    edits = [replace(edit, agent=f"worker {at % 2}") for at, edit in enumerate(refused_edits(16))]
    turns = with_ids(edits, lambda at: f"call_{at // 2}")

    assert first_trip(turns) == first_trip(edits) is not None


def test_calls_sent_side_by_side_by_two_agents_in_turn_are_one_attempt_of_each():
    edits = [replace(edit, agent=f"worker {at % 2}") for at, edit in enumerate(refused_edits(16))]

    assert first_trip(with_ids(edits, lambda at: f"answer {at % 2}")) is None


def test_calls_proposed_and_done_one_after_the_other_stay_of_one_answer():
    edits = with_ids(refused_edits(), lambda _: "msg_1")
    keyed = [replace(edit, key=f"toolu_{at}") for at, edit in enumerate(edits)]
    asked = [replace(edit, phase=Phase.PROPOSED, error=None) for edit in keyed]

    assert first_trip([turn for pair in zip(asked, keyed, strict=True) for turn in pair]) is None
    assert first_trip([*asked, *keyed]) is None


def test_results_that_a_log_writes_between_the_calls_of_an_answer_tear_it_not_apart(tmp_path):
    """Claude Code 2.1 writes what came of a call before the next call of the same answer."""
    rows = []
    for at, edit in enumerate(refused_edits()):
        call = {"type": "tool_use", "id": f"toolu_{at}", "name": edit.tool, "input": edit.args}
        came = {"type": "tool_result", "tool_use_id": f"toolu_{at}", "content": edit.error}
        asked = {"id": "msg_1", "role": "assistant", "content": [call]}
        told = {"role": "user", "content": [{**came, "is_error": True}]}
        rows.append({"type": "assistant", "sessionId": "one", "message": asked})
        rows.append({"type": "user", "sessionId": "one", "message": told})
    log = tmp_path / "session.jsonl"
    log.write_text("\n".join(map(json.dumps, rows)))
    turns = [turn for turn in read_recording(log).turns if turn is not None]

    assert [turn.call_id for turn in turns] == ["msg_1"] * 6
    assert first_trip(turns) is None
    assert first_trip([replace(turn, call_id=None) for turn in turns]) == 4

from __future__ import annotations

import json
from collections.abc import Hashable
from dataclasses import replace

import pytest

from guard.reading.outcome import SERVICE_BUSY, Outcome, outcome_of
from tests.guard.build import a_call, a_message, a_proposal


def key(text: str) -> Hashable:
    outcome = outcome_of(a_call("x", text))
    assert outcome is not None
    return outcome.key


@pytest.mark.parametrize(
    "result",
    [
        "Error: no such table",
        "bash: foo: command not found",
        "cat: x: No such file or directory",
        "Traceback (most recent call last):\n  File 'x'\nValueError: bad",
        "collected 3 items\n...\n2 failed, 1 passed in 0.1s",
        "3/4 tests passed\nFAIL: it floats: it sank",
        "Error: no value passed",
        "Error: the keel that was passed is no ship's",
        "TypeError: weigh() takes 1 argument, 2 were passed",
        "3/40 checks passed\n" + 37 * "FAIL: it_floats: depth was 12, expected 3\n",
        "running\nAssertionError: 1 != 2",
        "fatal: not a git repository",
        "Exit code: 2",
        "No replacement was performed, old_str did not appear.",
        "Invalid command",
        "Unknown command: >",
        "Error executing shell_ls: ",
        'You don\'t see "brass key" here.',
        "No exit to the north from this room.",
        "Tool call failed: no such session",
        "Validation error: path is required",
        "Request failed with status code 404",
        "HTTP/1.1 500 Internal Server Error",
        "Missing required parameter 'path'",
        "Blocked: read the file again before you edit it",
        "<tool_use_error>File has not been read yet.</tool_use_error>",
        "old_string found 0 times",
        "Found multiple matches for oldString. Provide more surrounding context.",
        "Permission to use Bash has been denied.",
        '{"status": "error", "message": "there is no weather for Atlantis"}',
        '{"id": 7, "success": false, "reason": "it is closed"}',
        "{'content': [], 'isError': True}",
        '{"data": null, "error": "order 12 is gone"}',
    ],
)
def test_an_answer_that_says_so_has_failed(result):
    assert outcome_of(a_call("x", result)).failed


@pytest.mark.parametrize(
    "result",
    [
        "",
        "ok",
        "9 passed in 0.2s",
        "0 failed, 9 passed",
        "4/4 tests passed",
        "ERROR is logged as asked\nall passed",
        "ERROR is logged as asked\n✓ the hull is tight: checks passed",
        "ERROR is logged as asked\nit_floats passed [100%]",
        "4 out of 4 checks passing",
        "4/4 tests passed, failed: 0\n" + 40 * "it floats, and stays dry\n",
        "     1\tclass NotFoundError(Exception):\n     2\t    raise NotFound",
        "The file src/errors.py has been updated.",
        "src/errors.py\nsrc/failure.py",
        "def fail():\n    return 'error'\n",
        "Build finished without errors",
        "No exit code yet: the process is still at work.",
        "No error: all is well",
        '{"error": null, "result": 3}',
        '{"failed": 0, "passed": 4}',
        '{"runs": [{"id": 1, "status": "error"}, {"id": 2, "success": false}]}',
        "blocked: false",
        "3 blocked issues: A, B, C",
        "Found 3 matches",
    ],
)
def test_an_answer_that_only_speaks_of_errors_has_not(result):
    assert not outcome_of(a_call("x", result)).failed


def test_an_error_field_is_a_failure_whatever_it_says():
    assert outcome_of(a_call("x", error="all is well")).failed


def test_an_empty_error_field_means_that_something_came_back():
    assert not outcome_of(a_call("x", None, error="")).failed


def test_nothing_is_known_of_proposals_messages_and_missing_results():
    assert outcome_of(a_proposal()) is None
    assert outcome_of(a_message("hi")) is None
    assert outcome_of(a_call("x", None)) is None


def test_equal_answers_are_equal_whatever_is_volatile_in_them():
    assert key("done in 0.1s, id=a1b2c3") == key("done in 9.7s, id=x9y8z7")


@pytest.mark.parametrize(
    "opening", ["Output of the last command:", "Here is what the tool returned.", "RESULT:"]
)
def test_a_line_that_only_announces_an_answer_is_no_part_of_it(opening):
    assert key(f"{opening}\nno such table") == key("no such table")
    assert key(f"{opening}\nno such table") != key(f"{opening}\nno such row")


@pytest.mark.parametrize(
    "line",
    ["results", "Harbour report:", "Step 7:", "It is done.", "I was here.", "The tool is running:"],
)
def test_a_first_line_that_tells_something_is_part_of_an_answer(line):
    assert key(f"{line}\nno such table") != key("no such table")


@pytest.mark.parametrize("text", ["Error: no such table", "Cannot open a.py", "3 rows", "a.py"])
def test_an_answer_fails_with_or_without_a_line_that_announces_it(text):
    announced = outcome_of(a_call(result=f"Here is the report you got:\n{text}"))

    assert announced.failed is outcome_of(a_call(result=text)).failed


def test_short_answers_are_equal_in_any_order():
    assert key("a.py\nb.py") == key("b.py\na.py")


def test_a_number_makes_another_answer():
    assert key("3 rows") != key("4 rows")


def test_a_failure_is_the_same_on_another_line():
    assert key("Error: bad indent, line 12") == key("Error: bad indent, line 47")


def test_a_failure_keeps_its_quoted_names():
    assert key("Error: unknown column 'a'") != key("Error: unknown column 'b'")


def test_long_answers_differ_by_their_middle_too():
    one, other = ("x\n" * 20_000 + mark + "\ny" * 20_000 for mark in "ab")

    assert key(one) != key(other)


def told_twice(error: str, result: str | None) -> Outcome | None:
    return outcome_of(replace(a_call("x", error=error), result=result))


@pytest.mark.parametrize("result", ["boom", "boom\n", "oom", "", None])
def test_a_result_that_tells_no_more_than_the_error_counts_once(result):
    assert told_twice("boom", result) == told_twice("boom", None)


def test_a_result_that_tells_more_than_the_error_counts_too():
    one, other = (told_twice("exit code 1", f"no such file: {name}") for name in "ab")

    assert one.text == "exit code 1\nno such file: a"
    assert one.key != other.key


def test_what_came_back_as_a_picture_is_not_known():
    assert outcome_of(a_call("x", " [Image: 640x480] ")) is None
    assert outcome_of(a_call("x", "[Image: 640x480]\nand a caption")) is not None
    assert outcome_of(a_call("x", "[1, 2]")) is not None
    assert outcome_of(a_call("x", "an image: [1]")) is not None


LONG_ANSWER = "alpha bravo charlie delta echo foxtrot golf hotel india juliett kilo lima mike"


def test_many_words_are_the_same_answer_in_any_order_few_or_a_failures_are_not():
    turned = " ".join(reversed(LONG_ANSWER.split()))

    assert key(LONG_ANSWER) == key(turned)
    assert key("alpha bravo") != key("bravo alpha")
    assert key(f"Error: {LONG_ANSWER}") != key(f"Error: {turned}")


def test_a_failure_and_a_success_of_the_same_words_differ():
    assert outcome_of(a_call("x", "boom")).key != outcome_of(a_call("x", error="boom")).key


@pytest.mark.parametrize(("cut", "failed"), [("12345 :", False), ("1234567", True)])
def test_a_numbered_line_is_a_file_that_speaks_of_errors(cut, failed):
    assert outcome_of(a_call("x", f"a\n{cut} error: no such file")).failed is failed


@pytest.mark.parametrize(
    ("result", "failures"),
    [
        ("2 failed, 1 passed", 2),
        ("5 passed", 0),
        ("1 error, 2 failed", 3),
        ("7/9 tests passed", 2),
        ("3/4 tests passed, 1 failed", 1),
        ("all checks passed", 0),
        ("Test 3 passed!", 0),
        ("the hull that was passed is there", None),
        ("fine", None),
    ],
)
def test_it_counts_what_failed(result, failures):
    assert outcome_of(a_call("x", result)).failures == failures


@pytest.mark.parametrize(
    ("text", "transient"),
    [
        ("HTTP 429", True),
        ("connection reset by peer", True),
        ("the model is Overloaded", True),
        ("404 not found", False),
        ("line 4290", False),
    ],
)
def test_a_busy_service_is_told_from_a_wrong_call(text, transient):
    assert SERVICE_BUSY.occurs_in(text) is transient


def test_a_code_written_around_an_answer_tells_whether_it_failed():
    failed = a_call("bash", "<returncode>1</returncode>\n<output>\nno grammar\n</output>")
    silent = a_call("bash", "<returncode>0</returncode>\n<output>\n</output>")

    assert (outcome_of(failed).failed, outcome_of(failed).text) == (True, "no grammar")
    assert outcome_of(silent) == outcome_of(a_call("bash", ""))


@pytest.mark.parametrize(
    "answer",
    [
        "Relevant Content: ",
        "Search results:",
        "error: null",
        "Errors found: ",
        '{"rows": []}',
        'Execution logs:\n{"rows": []}\n\nOut: None',
    ],
)
def test_a_name_with_nothing_after_it_is_nothing(answer):
    assert outcome_of(a_call("search", answer)).key == outcome_of(a_call("search", "[]")).key


@pytest.mark.parametrize("answer", ["Total: 4", '{"rows": [1]}', "note: see below\nmore"])
def test_a_name_with_something_after_it_is_an_answer(answer):
    assert outcome_of(a_call("search", answer)).key != outcome_of(a_call("search", "[]")).key


@pytest.mark.parametrize(
    ("answer", "more"),
    [
        ("2 rows; there are more results", True),
        ("No more results", False),
        ("0 more results", False),
        ("0 more results found", False),
        ("more results: []", False),
        ("There are no more results for this query.", False),
    ],
)
def test_it_tells_whether_a_page_follows(answer, more):
    assert outcome_of(a_call("search", answer)).has_more is more


def test_whether_a_page_follows_is_read_from_the_text_when_it_is_asked():
    assert Outcome(key="page 2", text='{"has_more": true}').has_more


@pytest.mark.parametrize(
    "wrapped",
    [
        '{"status": "success", "stdout": "cat: a.md: No such file or directory", "stderr": ""}',
        '{"error": "", "response": "{\\"status\\": \\"401\\", \\"msg\\": \\"Log in\\"}"}',
        '{"result": "{\\"data\\": null, \\"errors\\": [{\\"message\\": \\"No team\\"}]}"}',
        '{"content": [{"type": "text", "text": "nothing of that kind"}], "isError": true}',
        '[{"type": "text", "text": "Error: no such file"}]',
        '{"output": "2 lines", "exit_code": 2}',
    ],
)
def test_a_failure_is_seen_in_what_wraps_it(wrapped):
    outcome = outcome_of(a_call("x", wrapped))

    assert outcome is not None
    assert outcome.failed


def test_a_wrapped_answer_is_the_answer():
    answer = "one\ntwo"

    assert key(json.dumps({"stdout": answer, "stderr": "", "exit_code": 0})) == key(answer)
    assert key(json.dumps({"output": answer, "returncode": "0"})) == key(answer)
    assert key(json.dumps([{"type": "text", "text": answer}])) == key(answer)
    assert key(json.dumps({"content": answer, "isError": "false"})) == key(answer)


def test_an_answer_as_deep_as_can_be_is_read():
    for depth in range(0, 2000, 50):
        assert key(f'{{"text": "a", "rest": {"[" * depth}{"]" * depth}}}')


@pytest.mark.parametrize(
    "told", ['{"content": [{"type": "image"}]}', '{"text": 7}', '{"text": "', '[{"text": "a"}, 1]']
)
def test_what_wraps_no_text_is_the_answer_itself(told):
    outcome = outcome_of(a_call("x", told))

    assert outcome is not None
    assert outcome.text == told


@pytest.mark.parametrize(
    "refusal",
    [
        "Test case did not pass. Please try again.",
        "Wrong flag!",
        "No changes were made to the file.",
        "find: invalid -size type `m'",
        "Please provide the order's number.",
        "Not changed.",
        '{"status": "fail", "reason": "bad id"}',
    ],
)
def test_a_short_answer_that_refuses_has_failed(refusal):
    outcome = outcome_of(a_call("x", refusal))

    assert outcome is not None
    assert outcome.failed


@pytest.mark.parametrize(
    "answer",
    [
        "Nothing wrong here.",
        "0 invalid rows",
        "12 required, 12 met",
        'src/forms.py:8:    "name": "name is required",',
        'return Response("invalid token", 401)',
        "# An amount must be positive.",
        "ab12cd3 Refuse unsupported codecs",
        "12\tmsg = 'wrong password'",
        '{"code": 443, "name": "https"}',
        '{"succeeded": 0, "pending": 3}',
        '{"status": "failover", "success": 0.5}',
    ],
)
def test_a_short_answer_without_a_refusal_has_not(answer):
    outcome = outcome_of(a_call("x", answer))

    assert outcome is not None
    assert not outcome.failed


def test_code_that_failed_says_so():
    text = "Code execution failed at line 'df.shape' due to: InterpreterError: `df` is not defined"

    assert outcome_of(a_call("python", text)).failed

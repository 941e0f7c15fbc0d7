from __future__ import annotations

from tests.guard.build import a_call, first_trip

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
    assert first_trip(between(fixes(), pages())) == 6


def test_four_edits_of_one_file_refused_alike_are_a_loop_in_whatever_words():
    edits = [
        a_call("edit", error="Error: the text was not found", path="Node.java", old_string=text)
        for text in ("return n;", "if (full) stop();", "while (more)", "break;")
    ]

    assert first_trip(edits) == 3


def test_each_file_may_refuse_once():
    paths = ("Node.java", "Tree.java", "Leaf.java", "Edge.java", "Root.java")

    assert first_trip(between(fixes(paths), pages())) is None


def test_a_success_of_the_command_between_is_a_cure():
    turns = between(fixes(), pages())
    turns[4:4] = [a_call("write_fix", "written", path="Node.java", text="return 1;")]

    assert first_trip(turns) is None


def test_an_edit_between_may_be_a_cure():
    turns = between(fixes(), pages())
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

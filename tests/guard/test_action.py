from __future__ import annotations

from guard.caching import RecentCache
from guard.reading.step import read_action
from guard.turn import Role, Turn


def _call(tool: str, **more) -> Turn:
    return Turn(role=Role.ASSISTANT, tool=tool, **more)


def test_the_same_call_is_read_once():
    first = read_action(_call("Bash", args={"command": "ls", "timeout": 3}, result="a"))

    assert read_action(_call("Bash", args={"timeout": 3, "command": "ls"}, result="b")) is first


def test_what_the_caller_names_it_is_part_of_an_action():
    args = {"command": "make deploy"}

    assert read_action(_call("Bash", args=args)).action_class == "shell_exec"
    assert (
        read_action(_call("Bash", args=args, action_class="api_retry")).action_class == "api_retry"
    )


def test_a_message_is_read_once():
    message = Turn(role=Role.ASSISTANT, content="The fixtures look right.")

    assert read_action(message) is read_action(message)
    assert not read_action(message).is_call


def test_of_a_long_message_head_and_tail_are_kept():
    action = read_action(Turn(role=Role.ASSISTANT, content="begin " + "x" * 9000 + " end"))

    assert len(action.text) == 4001
    assert action.text.startswith("begin ")
    assert action.text.endswith(" end")


def test_the_cache_drops_what_was_not_used_lately():
    cache = RecentCache[int, str](2)
    for number in range(5):
        cache.put(number, str(number))
        assert cache.get(0) in {"0", None}

    assert cache.get(4) == "4"
    assert cache.get(1) is None


def test_the_cache_keeps_what_is_used_again_and_again():
    cache = RecentCache[int, str](2)
    for number in range(20):
        cache.put(number, str(number))
        cache.get(0)

    assert cache.get(0) == "0"

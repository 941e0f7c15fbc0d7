"""What people read of an agent that asks for a permission, and what they can tap there."""

import pytest

from guard.turn import Role, Turn
from missioncontrol.decisions import permissions
from missioncontrol.notify import content, web_push
from missioncontrol.notify.models import Notice
from missioncontrol.notify.texts import texts_in
from tests.build import NOON, a_run, after

pytestmark = pytest.mark.django_db


def asked_card(tool="Bash", **args):
    call = Turn(role=Role.ASSISTANT, tool=tool, args=args, phase="proposed", agent="coder")
    run = a_run()
    card = permissions.ask_permission(run.id, call, for_s=3600, at=NOON)
    return content.load(Notice.objects.get(decision=card).content)


def pushed_in(card, language="en", **fields):
    return web_push.card_push(
        card, texts_in(language), step_minutes=0, open_cards=1, details=True, at=NOON, **fields
    ).payload


def buttons(card, language="en"):
    return [(one["action"], one["title"]) for one in pushed_in(card, language)["actions"]]


def test_a_short_command_stands_in_full_and_can_be_answered_there():
    card = asked_card(command="rm -r build", description="Clean up")

    assert pushed_in(card)["title"] == "fix-auth-tests asks you"
    assert pushed_in(card)["body"] == "May it use Bash? rm -r build"
    assert buttons(card) == [("allow_once", "Allow once"), ("deny", "Deny")]
    assert buttons(card, "de") == [("allow_once", "Einmal erlauben"), ("deny", "Ablehnen")]


@pytest.mark.parametrize(
    "args",
    [
        {"command": "echo " + "x" * 200},
        {"command": "ls\nrm -r /"},
        {"command": "ls\u202e"},
        {"file_path": "a.py", "content": "print()"},
        {"command": "ls", "run_in_background": True},
        {},
    ],
    ids=["long", "two lines", "unseen signs", "an edit", "more than a command", "nothing"],
)
def test_what_does_not_stand_in_full_is_read_first(args):
    assert buttons(asked_card(**args)) == [("open", "Read"), ("deny", "Deny")]


def test_a_secret_in_a_command_is_not_told():
    card = asked_card(command="deploy --token=ghp_0123456789abcdefghijABCDEFGHIJ012345")

    assert "0123456789abcdef" not in str(content.dump(card))


def test_a_later_step_repeats_the_question_and_where_else_it_is_asked():
    words = content.render_notice(
        asked_card(command="ls"), texts_in("en"), step_minutes=5, at=after(300)
    )

    assert words.body == "Nobody answered for 5 min. May it use Bash? ls"
    assert words.detail.endswith("Its terminal asks the same.")

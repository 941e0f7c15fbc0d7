"""A push: what the service is told, what the device reads, and what ends a subscription."""

from __future__ import annotations

import json
from dataclasses import replace
from decimal import Decimal

import pytest

from missioncontrol.decisions import interventions, organisation
from missioncontrol.decisions.actions import Tap
from missioncontrol.notify import content, services, vapid, web_push
from missioncontrol.notify.models import Delivery, Device, Notice
from missioncontrol.notify.texts import texts_in
from missioncontrol.sealing import fingerprint, seal
from tests.build import NOON, a_call, a_run, a_stuck_run, after, report
from tests.missioncontrol.notify.build import a_device, deliver_due
from tests.push_service import a_push_service

pytestmark = pytest.mark.django_db
EN = texts_in("en")


@pytest.fixture
def service(settings):
    settings.VAPID_PRIVATE_KEY = vapid.new_private_key()
    with a_push_service() as running:
        settings.NOTIFY_HOSTS = [running.url.removeprefix("http://")]
        running.clock = NOON.timestamp
        yield running


@pytest.fixture
def subscribed(service, owner):
    """Return a maker of the owner's devices, with their subscriptions."""

    def one(**fields):
        made = service.subscribe(vapid.public_key())
        device = a_device(owner, made.endpoint, **fields)
        device.p256dh, device.auth = seal(made.keys["p256dh"]), seal(made.keys["auth"])
        device.save(update_fields=["p256dh", "auth"])
        return made, device

    return one


def the_card(**fields) -> content.Card:
    read = content.load(Notice.objects.exclude(decision=None).get().content)
    assert isinstance(read, content.Card)
    return replace(read, **fields)


def test_a_push_names_the_run_says_why_and_what_it_costs(service, subscribed, project):
    mine, _ = subscribed()
    run = a_stuck_run(project)

    deliver_due()

    (push,) = service.pushes_to(mine)
    assert service.refused == []
    assert push["title"] == "fix-auth-tests is paused"
    assert push["body"].endswith("No cost reported.")
    assert (push["run"], push["decision"]) == (str(run.id), str(run.open_decision))
    assert (push["tag"], push["path"]) == (push["decision"], f"/decisions/{push['decision']}")
    assert push["version"] == run.version
    assert push["open"] == 1


def test_a_push_is_urgent_and_replaces_an_older_one_of_the_same_card(service, subscribed, project):
    mine, _ = subscribed()
    run = a_stuck_run(project)
    deliver_due()

    answer(run)
    deliver_due(at=after(2))

    card, withdrawal = service.taken
    assert (card.headers["urgency"], withdrawal.headers["urgency"]) == ("high", "normal")
    assert card.headers["topic"] == withdrawal.headers["topic"] == run.open_decision.hex
    assert 0 < int(card.headers["ttl"]) <= 3600
    assert [push["type"] for push in service.pushes_to(mine)] == ["card", "withdrawn"]


def test_a_withdrawal_says_who_answered_and_counts_what_is_left(service, subscribed, project):
    mine, _ = subscribed()
    run = a_stuck_run(project)
    deliver_due()

    answer(run)
    deliver_due(at=after(2))

    push = service.pushes_to(mine)[-1]
    assert (push["body"], push["open"], push["tag"]) == (
        "ana continued it.",
        0,
        str(run.open_decision),
    )


@pytest.mark.parametrize("status", [404, 410])
def test_a_subscription_that_ended_is_removed(service, subscribed, project, status):
    subscribed()
    service.answers = [status]
    a_stuck_run(project)

    deliver_due()

    assert not Device.objects.exists()
    assert Delivery.objects.get().status == "failed"


def test_a_service_that_is_busy_is_asked_again(service, subscribed, project):
    mine, _ = subscribed()
    service.answers = [503]
    a_stuck_run(project)

    deliver_due()
    deliver_due(at=after(3600 - 60))

    assert [push["type"] for push in service.pushes_to(mine)] == ["card"]


@pytest.mark.parametrize("status", [429, 503])
def test_and_not_before_it_wants_to_be(service, subscribed, project, status):
    mine, _ = subscribed()
    service.answers, service.retry_after = [status], "120"
    a_stuck_run(project)
    deliver_due()

    assert deliver_due(at=after(120)) == 0
    assert deliver_due(at=after(122)) == 1
    assert [push["type"] for push in service.pushes_to(mine)] == ["card"]


def test_a_service_that_redirects_is_asked_again(service, subscribed, project):
    # Nobody entered its address: there is nothing to tell them.
    subscribed()
    service.answers = [307]
    a_stuck_run(project)

    deliver_due()

    waiting = Delivery.objects.get()
    assert (waiting.status, waiting.last_error) == ("waiting", "it answered 307")


def test_an_endpoint_inside_the_house_is_never_called(service, subscribed, project, settings):
    mine, _ = subscribed()
    settings.NOTIFY_HOSTS = []
    a_stuck_run(project)

    deliver_due()

    assert (service.taken, service.pushes_to(mine)) == ([], [])
    assert "must begin with https" in Delivery.objects.get().last_error
    assert mine.endpoint not in Delivery.objects.get().last_error


def test_a_device_without_details_reads_the_title_only(service, subscribed, project):
    mine, _ = subscribed(show_details=False)
    a_stuck_run(project)

    deliver_due()

    (push,) = service.pushes_to(mine)
    assert (push["title"], push["body"], push["actions"]) == ("fix-auth-tests is paused", "", [])


def test_a_test_is_pushed_at_once(service, subscribed, project):
    mine, device = subscribed()

    services.send_test(device, project=project.id, by="ana", at=NOON)
    deliver_due()

    (push,) = service.pushes_to(mine)
    assert (push["type"], push["title"]) == ("announcement", "A test from Mission Control")


def test_without_a_key_a_push_fails_in_words(service, subscribed, project, settings):
    subscribed()
    settings.VAPID_PRIVATE_KEY = ""
    a_stuck_run(project)

    deliver_due()

    assert "VAPID_PRIVATE_KEY" in Delivery.objects.get().last_error


def test_a_name_of_any_kind_stays_text_and_fits(service, subscribed, project):
    mine, _ = subscribed()
    hostile = "<img src=x onerror=alert(1)>\n\u202e" + "x" * 400
    a_stuck_run(project, name=hostile)

    deliver_due()

    (push,) = service.pushes_to(mine)
    assert push["title"].startswith("<img src=x")
    assert len(push["title"]) <= 32
    assert len(push["body"]) <= 200


def test_a_name_cannot_turn_the_reading_direction_round(service, subscribed, project):
    mine, _ = subscribed()
    a_stuck_run(project, name="safe\u202e\u2066gnp.exe\u200b\x07 👩‍🚀")

    deliver_due()

    (push,) = service.pushes_to(mine)
    assert push["title"].startswith("safegnp.exe 👩‍🚀")


def test_a_push_names_the_operator_who_was_configured(service, subscribed, project, settings):
    settings.VAPID_SUBJECT = "mailto:ops@acme.dev"
    subscribed()
    a_stuck_run(project)

    deliver_due()

    assert [one.claims["sub"] for one in service.taken] == ["mailto:ops@acme.dev"]


def test_a_push_names_nobody_rather_than_an_address_that_is_made_up(
    service, subscribed, project, settings
):
    settings.VAPID_SUBJECT, settings.PUBLIC_URL = "", "http://192.168.1.7:8765"
    subscribed()
    a_stuck_run(project)

    deliver_due()

    assert ["sub" in one.claims for one in service.taken] == [False]


def test_a_refusal_says_what_to_set_where_nobody_is_named(service, subscribed, project, settings):
    settings.VAPID_SUBJECT = settings.PUBLIC_URL = ""
    subscribed()
    service.answers = [403]
    a_stuck_run(project)

    deliver_due()

    delivery = Delivery.objects.get()
    assert delivery.status == "failed"
    assert delivery.last_error.startswith("it answered 403: some push services")
    assert "VAPID_SUBJECT" in delivery.last_error


# --- what can be tapped ----------------------------------------------------------------


@pytest.fixture
def card(project):
    a_stuck_run(project)
    return the_card(fix="Use token.py.", what="Same test 4 times.")


def test_a_fix_that_stands_in_full_is_injected_from_the_lock_screen(card):
    assert web_push.buttons_of(card, EN) == [
        {"action": "inject", "title": "Inject fix", "message": "Use token.py."},
        {"action": "continue", "title": "Continue"},
    ]


def test_a_longer_fix_is_read_first(card):
    buttons = web_push.buttons_of(replace(card, fix="x" * 121), EN)

    assert [(one["action"], one["title"]) for one in buttons] == [
        ("open", "Read fix"),
        ("continue", "Continue"),
    ]


def test_an_end_is_asked_on_the_card_itself(card):
    buttons = web_push.buttons_of(replace(card, fix=None), EN)

    assert [(one["action"], one["title"]) for one in buttons] == [
        ("continue", "Continue"),
        ("open", "Terminate…"),
    ]


def a_budget_card(card, **fields):
    actions = ("allow_budget", "finish", "terminate")
    given = {"ceiling": "5.00", "spent": "5.10", "unit": "usd", "scope": "run", **fields}
    return replace(card, kind="budget", fix=None, actions=given.pop("actions", actions), **given)


def test_a_budgets_card_offers_what_the_card_itself_does(card):
    assert web_push.buttons_of(a_budget_card(card), EN) == [
        {"action": "allow_budget", "title": "Allow $3 more", "amount": {"usd": "3.00"}},
        {"action": "terminate", "title": "Stop…", "sure": "Stop now"},
    ]


@pytest.mark.parametrize(
    ("ceiling", "unit", "title", "amount"),
    [
        ("1.50", "usd", "0,75\u00a0$ mehr erlauben", {"usd": "0.75"}),
        ("200000", "tokens", "100.000 Tokens mehr erlauben", {"tokens": 100000}),
        ("1", "turns", "1 Schritt mehr erlauben", {"turns": 1}),
        ("3", "failures", "2 Fehler mehr erlauben", {"failures": 2}),
    ],
)
def test_it_allows_half_as_much_again_in_its_own_unit(card, ceiling, unit, title, amount):
    first = web_push.buttons_of(a_budget_card(card, ceiling=ceiling, unit=unit), texts_in("de"))[0]

    assert (first["title"], first["amount"]) == (title, amount)


def test_a_budget_card_that_cannot_be_raised_offers_its_end_only(card):
    buttons = web_push.buttons_of(a_budget_card(card, actions=("terminate",)), EN)

    assert [one["action"] for one in buttons] == ["terminate"]


@pytest.mark.parametrize(
    ("role", "answers"), [("owner", ["allow_budget", "terminate"]), ("operator", ["terminate"])]
)
def test_who_owns_a_project_alone_raises_everybodys_budget(
    role, answers, service, subscribed, owner, project
):
    mine, _ = subscribed()
    owner.membership_set.update(role=role)
    organisation.set_day_budget(Decimal(1), by="ana", at=NOON)
    report(a_run(project), a_call("ls", cost_usd=Decimal(2)))

    deliver_due()

    (push,) = service.pushes_to(mine)
    assert [one["action"] for one in push["actions"]] == answers


def test_a_run_that_goes_on_can_be_held(card):
    flagged = replace(card, holds=False, fix=None, actions=("pause", "continue", "terminate"))

    assert [one["action"] for one in web_push.buttons_of(flagged, EN)] == ["pause", "continue"]


def test_a_card_that_holds_nobody_is_old_news_after_four_hours(card):
    push = web_push.card_push(
        replace(card, expires_at=None), EN, step_minutes=0, open_cards=1, details=True, at=NOON
    )

    assert push.ttl_s == 4 * 3600


def test_the_largest_push_fits_one_record(card):
    big = replace(card, run_name="n" * 100, what="w" * 500, fix="f" * 120)
    push = web_push.card_push(big, EN, step_minutes=0, open_cards=10**6, details=True, at=NOON)

    assert len(json.dumps(push.payload)) < 3993


def answer(run, action="continue"):
    run.refresh_from_db()
    tap = Tap(key="k", action=action, decision=run.open_decision, version=run.version)
    interventions.intervene(run.id, tap, projects=[run.project_id], by="ana", at=after(1))


def test_a_run_without_a_card_pushes_nothing(service, subscribed, project):
    mine, device = subscribed()
    a_run(project)

    deliver_due()

    assert service.pushes_to(mine) == []
    assert device.endpoint_digest == fingerprint(mine.endpoint)

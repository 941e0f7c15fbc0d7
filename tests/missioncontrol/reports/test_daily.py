"""The daily cost report: once a day, to the cent, and never changed in silence."""

import threading
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal

import pytest
from django.core.management import call_command
from django.db import connection

from guard.turn import Usage
from missioncontrol.notify.models import Delivery, Notice
from missioncontrol.notify.texts import texts_in
from missioncontrol.reports import daily
from missioncontrol.reports.models import CostReport
from missioncontrol.reports.texts import body_of, csv_of, html_of, text_of, title_of
from missioncontrol.runs.models import ModelCall
from tests.build import NOON, a_call, a_project, a_run, a_stuck_run, report
from tests.missioncontrol.notify.build import a_channel, deliver_due
from tests.missioncontrol.notify.mail import a_mailbox

pytestmark = pytest.mark.django_db
DAY = date(2026, 11, 21)
MIDNIGHT = datetime(2026, 11, 22, tzinfo=UTC)
DUE = MIDNIGHT + timedelta(minutes=15)
WEEK = timedelta(days=7)
EN = texts_in("en")


def spend(run, usd, *, at=NOON, **fields):
    return report(run, a_call(f"ls {usd}", cost_usd=Decimal(usd), **fields), at=at)


@pytest.fixture
def spent(project):
    """4.75 dollars, one call unpriced, against 2.00 a week before and a budget of 20."""
    project.budgets = {"day": {"usd": "20"}}
    project.save()
    run = a_run(project)
    spend(run, "3.25", model="m-big")
    spend(run, "1.50", model="m-small", agent="critic")
    report(run, a_call("x", usage=Usage(input=9), model="house"))
    spend(run, "2.00", at=NOON - WEEK, model="m-big")
    return project


def made():
    return [(one.day.isoformat(), one.version) for one in CostReport.objects.order_by("id")]


def the_report(**wanted):
    return daily.report_of(CostReport.objects.get(**wanted))


def test_a_day_is_told_once_it_and_a_little_more_have_passed(spent):
    assert daily.make_due_reports(at=DUE - timedelta(seconds=1)) == 0

    assert daily.make_due_reports(at=DUE) == 1
    assert daily.make_due_reports(at=DUE + timedelta(hours=3)) == 0
    assert made() == [("2026-11-21", 1)]


def test_its_figures_are_right_to_the_cent(spent):
    daily.make_due_reports(at=DUE)

    daily_report = the_report()
    assert (daily_report.row.spent.total_usd, daily_report.row.before_usd) == (Decimal("4.75"), 2)
    assert daily_report.row.budget.left_usd == Decimal("15.25")
    assert {one.name: one.cost_usd for one in daily_report.account.groups} == {
        "coder": Decimal("3.25"),
        "critic": Decimal("1.50"),
    }
    assert {one.name: one.cost_usd for one in daily_report.models} == {
        "m-big": Decimal("3.25"),
        "m-small": Decimal("1.50"),
        "house": 0,
    }
    assert [(one.name, one.cost_usd) for one in daily_report.projects] == [
        ("payments", Decimal("4.75"))
    ]


def test_it_says_all_of_it_in_words(spent):
    daily.make_due_reports(at=DUE)

    daily_report = the_report()
    assert title_of(daily_report, EN) == "Saturday cost $4.75"
    assert (
        body_of(daily_report, EN) == "payments: 24% of the daily budget. +138% on the week before."
    )
    text = text_of(daily_report, EN)
    assert "Saturday 21 November 2026 (UTC)" in text
    assert "Budget: 24% of $20.00; $15.25 left" in text
    assert "1 call unpriced (house)" in text
    assert "Unpriced, not included: 1 call" in text


@pytest.mark.parametrize(
    ("zone", "due"),
    [
        ("Europe/Berlin", datetime(2026, 10, 25, 23, 15, tzinfo=UTC)),  # 25 hours long
        ("America/New_York", datetime(2026, 10, 26, 4, 15, tzinfo=UTC)),
        ("Asia/Kolkata", datetime(2026, 10, 25, 18, 45, tzinfo=UTC)),
    ],
)
def test_a_day_ends_at_the_projects_midnight(zone, due):
    project = a_project(time_zone=zone)
    project.created_at = datetime(2026, 10, 25, 0, tzinfo=UTC)
    project.save()
    on = [day for day in daily.due_days(project, at=due) if day == date(2026, 10, 25)]

    assert on == [date(2026, 10, 25)]
    before = daily.due_days(project, at=due - timedelta(seconds=1))
    assert date(2026, 10, 25) not in before


@pytest.mark.parametrize(("day", "hours"), [(date(2026, 3, 29), 23), (date(2026, 10, 25), 25)])
def test_what_was_spent_in_every_hour_of_a_moved_day_is_in_it_once(day, hours):
    project = a_project(time_zone="Europe/Berlin")
    run = a_run(project)
    began = datetime(day.year, day.month, day.day, tzinfo=UTC) - timedelta(hours=3)
    for hour in range(30):
        spend(run, "1", at=began + timedelta(hours=hour, minutes=30), key=f"h{hour}")

    daily_report = daily.report_of(daily.build_report(project, day, at=began + timedelta(days=3)))

    assert daily_report.row.spent.total_usd == hours


def test_days_missed_by_a_server_that_was_away_are_made_when_it_is_back(spent):
    back = DUE + timedelta(days=3)

    assert daily.make_due_reports(at=back) == 4
    assert made() == [(f"2026-11-{day}", 1) for day in (21, 22, 23, 24)]
    assert daily.make_due_reports(at=back) == 0


def test_an_absence_of_a_year_makes_up_for_a_month(spent):
    due = daily.due_days(spent, at=DUE + timedelta(days=365))

    assert (due[0], due[-1], len(due)) == (date(2027, 10, 22), date(2027, 11, 21), 31)


def test_a_project_that_wants_none_has_none(spent):
    spent.daily_report = False
    spent.save()

    assert daily.make_due_reports(at=DUE) == 0


@pytest.mark.django_db(transaction=True)
def test_two_beats_make_one(spent):
    a_channel(spent, hears_reports=True)
    begin = threading.Barrier(2)

    def beat():
        begin.wait()
        daily.make_due_reports(at=DUE)
        connection.close()

    beats = [threading.Thread(target=beat) for _ in range(2)]
    for one in beats:
        one.start()
    for one in beats:
        one.join()

    assert made() == [("2026-11-21", 1)]
    assert Delivery.objects.filter(what="report").count() == 1


def test_a_second_beat_that_comes_late_to_the_same_day_is_told_so(spent):
    assert daily.make_report(spent, DAY, at=DUE) is not None
    assert daily.make_report(spent, DAY, at=DUE) is None
    assert Notice.objects.filter(what="report").count() == 1


def test_usage_that_comes_late_makes_a_version_that_says_so(spent):
    a_channel(spent, hears_reports=True)
    daily.make_due_reports(at=DUE)
    call = ModelCall.objects.get(cost_usd=Decimal("1.50"))
    call.cost_usd = Decimal("1.75")
    call.save()

    assert daily.correct_changed_reports(at=DUE + timedelta(minutes=15)) == 1

    first, second = (the_report(version=version) for version in (1, 2))
    assert (first.row.spent.total_usd, first.newest) == (Decimal("4.75"), second.row.id)
    assert (second.row.spent.total_usd, second.row.was_usd) == (Decimal("5.00"), Decimal("4.75"))
    assert title_of(second, EN) == "Corrected: Saturday cost $5.00"
    assert "previously reported as $4.75; usage or a price became known after it was made." in (
        body_of(second, EN)
    )
    assert Delivery.objects.filter(what="report").count() == 2


def test_figures_that_stand_are_not_corrected(spent):
    daily.make_due_reports(at=DUE)

    assert daily.correct_changed_reports(at=DUE + timedelta(minutes=15)) == 0
    assert daily.correct_changed_reports(at=DUE + timedelta(days=1)) == 0


def test_a_correction_below_a_cent_is_kept_and_not_sent(spent):
    a_channel(spent, hears_reports=True)
    daily.make_due_reports(at=DUE)
    ModelCall.objects.filter(cost_usd=Decimal("1.50")).update(cost_usd=Decimal("1.504"))

    daily.correct_changed_reports(at=DUE + timedelta(minutes=15))

    assert made() == [("2026-11-21", 1), ("2026-11-21", 2)]
    assert Delivery.objects.filter(what="report").count() == 1


def test_calls_that_are_taken_back_wholly_correct_the_day_too(spent):
    daily.make_due_reports(at=DUE)
    ModelCall.objects.filter(at__gte=NOON).delete()

    assert daily.correct_changed_reports(at=DUE + timedelta(minutes=15)) == 1
    assert the_report(version=2).row.spent.total_usd == 0


def test_a_day_on_which_nothing_happened_is_kept_and_not_sent(project):
    a_channel(project, hears_reports=True)

    daily.make_due_reports(at=DUE)

    assert made() == [("2026-11-21", 1)]
    assert not Delivery.objects.exists()


def test_a_day_long_past_is_made_and_not_sent(spent):
    a_channel(spent, hears_reports=True)

    daily.make_due_reports(at=DUE + timedelta(days=8))

    assert the_report(day=DAY).sent == 0
    assert not Delivery.objects.exists()


def test_only_channels_that_hear_reports_are_told(spent):
    a_channel(spent, name="cards only")
    a_channel(spent, name="finance", hears_reports=True, hears_decisions=False)

    daily.make_due_reports(at=DUE)

    assert [one.target for one in Delivery.objects.filter(what="report")] == ["finance"]


def test_a_letter_has_the_table_as_text_and_as_a_page(spent, settings):
    settings.PUBLIC_URL = "https://mc.example.com"
    with a_mailbox() as mailbox:
        settings.NOTIFY_HOSTS = [mailbox.host]
        url = f"mailto://{mailbox.host}?to=fin@example.com&from=mc@example.com"
        a_channel(spent, url, kind="email", hears_reports=True)
        daily.make_due_reports(at=DUE)
        deliver_due(at=DUE)

    (letter,) = mailbox.letters
    plain, page = (
        letter.get_body(("plain",)).get_content(),
        letter.get_body(("html",)).get_content(),
    )
    assert (letter["Subject"], letter["To"]) == ("Saturday cost $4.75", "fin@example.com")
    assert "coder" in plain
    assert "Budget: 24% of $20.00; $15.25 left" in plain
    assert "<table" in page
    assert "$15.25 left" in page
    assert "https://mc.example.com/reports/" in page
    assert "<img" not in page
    assert "<script" not in page
    assert "src=" not in page
    assert the_report().sent == 1


def test_a_german_letter_says_all_of_it_in_german(spent, settings):
    with a_mailbox() as mailbox:
        settings.NOTIFY_HOSTS = [mailbox.host]
        url = f"mailto://{mailbox.host}?to=fin@example.com&from=mc@example.com"
        a_channel(spent, url, kind="email", hears_reports=True, language="de")
        daily.make_due_reports(at=DUE)
        deliver_due(at=DUE)

    (letter,) = mailbox.letters
    plain, page = (
        letter.get_body(("plain",)).get_content().replace("\u00a0", " "),
        letter.get_body(("html",)).get_content().replace("\u00a0", " "),
    )
    assert letter["Subject"].replace("\u00a0", " ") == "Samstag kostete 4,75 $"
    assert "Samstag, 21. November 2026 (UTC)" in plain
    assert "Budget: 24 % von 20,00 $; 15,25 $ übrig" in plain
    assert "Woche davor" in plain
    assert '<html lang="de">' in page
    assert "Summe mit Prüfer 4,75 $: Agenten 4,75 $ + Prüfer 0,00 $." in page
    assert "Schleifen, 7 Tage" in page


def test_a_letter_that_is_refused_is_tried_again(spent, settings):
    with a_mailbox() as mailbox:
        mailbox.answers["RCPT"] = "450 later, please"
        settings.NOTIFY_HOSTS = [mailbox.host]
        url = f"mailto://{mailbox.host}?to=fin@example.com&from=mc@example.com"
        a_channel(spent, url, kind="email", hears_reports=True)
        daily.make_due_reports(at=DUE)
        deliver_due(at=DUE)

    assert (the_report().sent, the_report().waiting) == (0, 1)
    assert mailbox.letters == []


def test_hostile_names_are_text_in_the_page_and_no_formula_in_the_file(project):
    run = a_run(project)
    spend(run, "1", agent='<img src=x onerror="alert(1)">', model="=HYPERLINK(1)")
    daily.make_due_reports(at=DUE)

    daily_report = the_report()
    assert "<img" not in html_of(daily_report, EN, path="/reports/1")
    assert "&lt;img src=x" in html_of(daily_report, EN, path="/reports/1")
    assert "'=HYPERLINK(1)" in csv_of(daily_report)


def test_what_has_no_price_is_a_word(project):
    report(a_run(project), a_call("x", usage=Usage(input=9), model="house"))
    daily.make_due_reports(at=DUE)

    drawn = the_report()
    assert title_of(drawn, EN) == "Saturday cost unpriced"
    assert "$0" not in text_of(drawn, EN).split("Judge")[0]


def test_loops_stand_by_agent_with_their_trend(project):
    a_stuck_run(project)
    daily.make_due_reports(at=DUE)

    (agent,) = the_report().account.groups
    assert (agent.loops, agent.trend[-1]) == (1, 1)
    assert "0 → 1 ▲" in text_of(the_report(), EN)


def test_the_command_shows_the_kept_report_and_its_csv(spent, capsys):
    daily.make_due_reports(at=DUE)

    call_command("cost_report", day=DAY, project="payments")
    shown = capsys.readouterr()
    call_command("cost_report", day=DAY, csv=True)

    assert "Spent: $4.75" in shown.out
    assert shown.err == ""
    assert "total,,Total with judge,4.75" in capsys.readouterr().out


def test_the_command_says_when_no_report_was_kept(spent, capsys):
    call_command("cost_report", day=DAY)

    shown = capsys.readouterr()
    assert "Spent: $4.75" in shown.out
    assert "No report was kept" in shown.err

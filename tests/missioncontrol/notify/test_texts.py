"""Every language says the same things; whoever is told reads their own."""

from __future__ import annotations

import json
import re
from collections import defaultdict
from decimal import Decimal
from string import Formatter

import pytest

from guard.budget import Budget, Spent
from guard.detectors.budget import SCOPE_NAMES, budget_signal
from guard.formats import Recording
from guard.judge.texts import read_texts
from guard.policy import Policy
from guard.replay import replay
from missioncontrol.notify import content, services
from missioncontrol.notify.models import Delivery, Notice
from missioncontrol.notify.texts import CATALOGUES, SENTENCES, sentence, texts_in
from missioncontrol.translation import LANGUAGES, TextTable, tables_of
from tests.build import NOON, a_call, a_project, a_run, a_stuck_run, report
from tests.guard.scenes import LOOPS
from tests.installations import ROOT
from tests.missioncontrol.notify.build import a_channel, deliver_due
from tests.missioncontrol.notify.mail import a_mailbox

SAID = json.loads((ROOT / "frontend/src/messages/sentences.json").read_text())
OTHERS = [language for language in LANGUAGES if language != "en"]
# As code and templates name a text: `t.title`, `texts_for(request).title`.
ASKED_FOR = re.compile(r"(?:(?<![\w.])t|texts_for\(request\))\.([a-z_]+)")
SAME_EVERYWHERE = {
    "figures.dollars",
    "joining.roles.operator",
    "notice.agent",
    "notice.an_hour",
    "report.budget",
    "report.groups.agent",
    "report.title",
    "report.parts",
    "sign_in.seconds",
}


def flat(texts, name="") -> dict[str, str]:
    """Return every text of a language's file by its name, whatever it stands in."""
    if isinstance(texts, str):
        return {name: texts}
    if isinstance(texts, list):
        texts = dict(enumerate(texts))
    found: dict[str, str] = {}
    if isinstance(texts, dict):
        for key, part in texts.items():
            found |= flat(part, f"{name}.{key}" if name else key)
    return found


def blanks(text: str) -> set[str]:
    return {name for _, name, _, _ in Formatter().parse(text) if name}


def test_german_leaves_no_text_to_english(monkeypatch):
    assert TextTable.of("sign_in", "de").title == "Anmelden"

    monkeypatch.setitem(tables_of("en")["sign_in"], "forgotten_in_german", "Something new")
    with pytest.raises(LookupError, match="forgotten_in_german"):
        TextTable.of("sign_in", "de")


def test_every_text_that_is_asked_for_exists():
    """Types do not see it: tables are read from a file, and a template shows nothing instead."""
    server = ROOT / "missioncontrol"
    folders = [server / name for name in ("accounts", "api/views", "history", "notify", "reports")]
    files = [file for one in folders for file in one.rglob("*") if file.suffix in {".py", ".html"}]
    named = {name for file in files for name in ASKED_FOR.findall(file.read_text("utf-8"))}

    assert {"too_many", "answered", "is_held"} <= named
    assert named <= set().union(*tables_of("en").values()) | set(dir(texts_in("en")))


@pytest.mark.parametrize("language", OTHERS)
def test_every_language_has_every_text_with_the_same_blanks(language):
    english, other = flat(tables_of("en")), flat(tables_of(language))

    assert english.keys() == other.keys()
    assert {name: blanks(text) for name, text in english.items()} == {
        name: blanks(text) for name, text in other.items()
    }


@pytest.mark.parametrize("language", OTHERS)
def test_nothing_is_left_in_english(language):
    english, other = flat(tables_of("en")), flat(tables_of(language))
    same = {name for name, text in english.items() if other[name] == text and len(text) > 6}

    assert same <= SAME_EVERYWHERE


def test_every_sentence_fills_only_what_its_pattern_finds():
    derived = {"does", "rest"}

    for pattern, says in SENTENCES:
        assert blanks(says) - derived <= set(re.compile(pattern).groupindex)


@pytest.mark.parametrize(("english", "german"), SAID)
def test_the_guards_sentences_are_said_in_german(english, german):
    assert sentence(english) == german


def test_every_pattern_has_a_sentence_that_the_screens_say_too():
    patterns = [re.compile(pattern, re.DOTALL) for pattern, _ in SENTENCES]

    assert all(any(one.fullmatch(english) for english, _ in SAID) for one in patterns)


def test_a_judges_own_words_stay_as_they_are():
    assert sentence("A judge's own words.") == "A judge's own words."


@pytest.mark.parametrize("scene", sorted(LOOPS))
@pytest.mark.parametrize("detectors", [None, ["ralph"], ["loopguard"], ["fingerprint"], ["broker"]])
def test_why_a_loop_was_found_is_said_in_german(scene, detectors):
    turns, _ = LOOPS[scene]
    policy = Policy.from_mapping({} if detectors is None else {"detectors": detectors})
    alarms = replay(Recording(run="r", turns=tuple(turns)), policy).alarms

    said = [alarm.signal.evidence.summary for alarm in alarms]
    assert [summary for summary in said if sentence(summary) == summary] == []


@pytest.mark.parametrize("scope", ["run", *SCOPE_NAMES])
@pytest.mark.parametrize("used", [Spent(turns=5), Spent(usd=Decimal(9)), Spent(failures=4)])
def test_whatever_budget_is_used_up_is_said_in_german(scope, used):
    budget = Budget(turns=5, usd=Decimal(8), failures=4)
    summary = budget_signal(budget, used, seq=5, scope=scope, whose="a coder").evidence.summary

    assert sentence(summary) != summary


def test_every_reason_of_the_local_judge_is_said_in_german():
    facts = defaultdict(lambda: "x", count=3, often=", 2 times", tried="", what="column x")
    reasons = [
        words["reason"].format_map(facts)
        for words in read_texts("advice.toml").values()
        if words["reason"] != "{summary}"
    ]

    assert [reason for reason in reasons if sentence(reason) == reason] == []


def test_figures_are_written_as_germans_do():
    figures = texts_in("de").figures

    assert [figures.money(Decimal(text)) for text in ("2.31", "1204.4", "0.0001")] == [
        "2,31\u00a0$",
        "1.204\u00a0$",
        "<0,001\u00a0$",
    ]
    assert figures.share(0.854) == "85\u00a0%"


# --- who reads what ----------------------------------------------------------------


@pytest.fixture
def mailbox(settings):
    settings.PUBLIC_URL = "https://mc.example.com"
    with a_mailbox() as box:
        settings.NOTIFY_HOSTS = [box.host]
        yield box


def a_letter_box(project, mailbox, **more):
    address = f"mailto://{mailbox.host}?to=ana@example.com&from=mc@example.com"
    return a_channel(project, address, kind="email", **more)


@pytest.mark.django_db
def test_a_german_channel_gets_a_german_letter(mailbox, project):
    a_letter_box(project, mailbox, language="de")
    run = a_stuck_run(project)

    deliver_due()

    (letter,) = mailbox.letters
    text = letter.get_content()
    assert letter["Subject"] == "fix-auth-tests angehalten"
    assert "Er führte denselben Test" in text
    assert "wird er gestoppt." in text
    assert f"Hier antworten: https://mc.example.com/decisions/{run.open_decision}" in text


@pytest.mark.django_db
def test_what_asks_nothing_is_told_to_each_channel_in_its_language(mailbox):
    project = a_project(budget={"usd": "1.00"})
    a_letter_box(project, mailbox, language="de")
    a_letter_box(project, mailbox)

    report(a_run(project), a_call("ls", cost_usd="0.85"))
    deliver_due()

    assert {letter["Subject"].replace("\u00a0", " ") for letter in mailbox.letters} == {
        "fix-auth-tests bei 85 %",
        "fix-auth-tests is at 85%",
    }


@pytest.mark.django_db
def test_a_test_is_in_the_channels_language(mailbox, project):
    channel = a_letter_box(project, mailbox, language="de")

    services.send_test(channel, project=channel.project_id, by="ana", at=NOON)
    deliver_due()

    assert mailbox.letters[0]["Subject"] == "Ein Test von Mission Control"


@pytest.mark.django_db
def test_a_notice_kept_before_there_were_languages_is_still_told(mailbox, project):
    channel = a_letter_box(project, mailbox, language="de")
    services.send_test(channel, project=channel.project_id, by="ana", at=NOON)
    notice = Notice.objects.get()
    notice.content = {name: part for name, part in notice.content.items() if name != "others"}
    notice.save()

    deliver_due()

    assert mailbox.letters[0]["Subject"] == "A test from Mission Control"


@pytest.mark.django_db
def test_a_program_reads_its_channels_language_and_no_other(server, settings, project):
    settings.NOTIFY_HOSTS = [server.host]
    channel = a_channel(project, f"{server.url}/hook", language="de")

    services.send_test(channel, project=channel.project_id, by="ana", at=NOON)
    deliver_due()

    ((_, _, body),) = server.received
    notice = content.load(Notice.objects.get().content, language="de")
    assert notice.title.encode() in body
    assert b"A test from" not in body
    assert Delivery.objects.get().language == "de"


@pytest.mark.parametrize("texts", CATALOGUES.values(), ids=CATALOGUES)
def test_a_cost_that_is_not_known_is_never_nothing(texts):
    known = content.cost_sentence(Decimal("1.50"), 0, texts)
    partly = content.cost_sentence(Decimal("1.50"), 3, texts)
    unpriced, silent = (content.cost_sentence(Decimal(0), calls, texts) for calls in (3, 0))

    assert "1" in known
    assert "3" in partly
    assert unpriced == texts.calls_unpriced
    assert silent == texts.no_cost
    for cost in (unpriced, silent):
        text = content.ended_announcement(texts, "It ended.", name="a", path="/", cost=cost).body
        assert "0.00" not in text
        assert "0,00" not in text
        assert text == text.strip()

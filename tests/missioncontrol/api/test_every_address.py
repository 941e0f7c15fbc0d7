"""Every address of urls.py, asked by those whom it is none of: nobody is told a thing.

A new address is found here by itself; one that takes a body or an id needs its line below.
"""

from __future__ import annotations

import json
from datetime import date, timedelta
from types import SimpleNamespace
from uuid import uuid4

import pytest
from allauth.mfa.models import Authenticator
from django.contrib.auth.models import User
from django.db import transaction
from rest_framework.test import APIClient

from missioncontrol.accounts import credentials, services
from missioncontrol.accounts import services as accounts
from missioncontrol.accounts.models import Browser, JoiningRule, Project, Role, Scope
from missioncontrol.clock import now
from missioncontrol.decisions.models import AllowlistEntry, Message
from missioncontrol.detection.models import Backtest, PolicyVersion, Recording
from missioncontrol.env import IdentityProvider
from missioncontrol.history import sharing
from missioncontrol.history.models import SavedView
from missioncontrol.notify import content
from missioncontrol.notify.models import Delivery, Notice
from missioncontrol.projects import members
from missioncontrol.reports import daily
from missioncontrol.urls import api
from tests.build import NOON, a_call, a_person, a_project, a_run, put
from tests.missioncontrol.accounts.credentials import a_credential
from tests.missioncontrol.notify.build import a_channel, a_device

pytestmark = pytest.mark.django_db

VERBS = ("get", "post", "put", "patch", "delete")
EVERY = [
    (verb, str(one.pattern))
    for one in api
    for verb in VERBS
    if hasattr(vars(one.callback)["cls"], verb)
]
WITH_ID = [one for one in EVERY if "<" in one[1]]
WRITES = [one for one in EVERY if one[0] != "get"]
LISTS = [path for verb, path in EVERY if verb == "get" and "<" not in path]

BODIES = {
    "projects/<uuid:project_id>/": {"mode": "warn"},
    "runs/<uuid:run_id>/": {"mode": "warn", "status": "completed"},
    "projects/<uuid:project_id>/prices/": {"model": "m", "input": "1", "output": "2"},
    "projects/<uuid:project_id>/policies/check/": {"policy": {}},
    "backtest/": {"policy": {}, "project": "{project_id}"},
    "shares/": {"run": "{run_id}", "project": "{project_id}"},
    "recordings/": {"role": "assistant", "content": "the same again"},
    "runs/": {"name": "mine", "parent": "{run_id}"},
    "runs/<uuid:run_id>/interventions/": {"key": "k", "action": "pause"},
    "runs/<uuid:run_id>/choices/": {"key": "k", "action": "continue"},
    "views/": {"name": "v", "q": "", "project": "{project_id}"},
    "allowlist/": {"pattern": "Bash *", "match": "glob", "project": "{project_id}"},
    "allowlist/preview/": {"pattern": "Bash *", "match": "glob", "project": "{project_id}"},
    "channels/": {
        "kind": "webhook",
        "name": "n",
        "address": "https://example.com",
        "project": "{project_id}",
    },
    "keys/": {"name": "k", "project": "{project_id}"},
    "me/": {"name": "Zoe"},
    "devices/reach/": {"is_open": True},
    "instance/budget/": {"day_usd": "100"},
    "account/password/": {"password": "correct horse battery staple"},
    "account/app/": {"code": "000000"},
    "account/passkeys/": {"name": "p", "credential": {}},
    "account/again/": {"password": "wrong"},
    "projects/<uuid:project_id>/joining-rules/": {"by": "group", "value": "staff"},
    "projects/": {"name": "mine"},
    "projects/<uuid:project_id>/members/<int:user_id>/": {"role": "viewer"},
    "projects/<uuid:project_id>/invitations/": {"role": "viewer"},
    "projects/<uuid:project_id>/redaction/preview/": {"rules": ["K-######"]},
    "projects/<uuid:project_id>/keys/": {"name": "k"},
    "tokens/": {"name": "t"},
    "setup-codes/": {"project": "{project_id}"},
    "setup-codes/exchange/": {"code": "2345-6789-ABCD", "name": "theirs", "on": "elsewhere"},
}
QUERIES = {"recordings/": "?project={project_id}"}
"""Where the body is a file, the project stands in the address."""
ONES_OWN = {
    "me/",
    "tokens/",
    "sessions/",
    "pairings/",
    "devices/this/push/",
    *(path for _, path in EVERY if path.startswith("account/") and "<" not in path),
}
"""Written for oneself: there is no project to keep out of."""
A_VIEWERS_TOO = {
    ("post", "views/"): 201,
    ("delete", "views/<uuid:view_id>/"): 404,  # it is Ana's own
    ("post", "projects/<uuid:project_id>/policies/check/"): 200,  # nothing is kept
}
AN_AGENTS = {
    ("get", "runs/<uuid:run_id>/rules/"),
    ("post", "runs/"),
    ("post", "runs/<uuid:run_id>/choices/"),
    ("post", "runs/<uuid:run_id>/messages/<uuid:message_id>/delivered/"),
}


@pytest.fixture(autouse=True)
def every_way(settings):
    """Every way of signing in is on: what is off would not be there to be asked."""
    settings.SIGN_IN = frozenset({"password", "passkey", "oidc"})
    settings.SIGN_IN_AGAIN = timedelta(
        days=40_000
    )  # who signed in, whenever that was, is not asked
    settings.OIDC = IdentityProvider(
        issuer="https://id.example.com", client="c", secret="", name="Example", groups_claim="g"
    )


@pytest.fixture(scope="module")
def standing(django_db_setup, django_db_blocker):
    """A house and its people, made once; what a test does to it is undone after the test."""
    with django_db_blocker.unblock(), transaction.atomic():
        project = a_project()
        owner = a_person("ana", project, "owner")
        yield SimpleNamespace(
            project=project,
            owner=owner,
            operator=a_person("olu", project, "operator"),
            viewer=a_person("vic", project, "viewer"),
            stranger=a_person("sam", a_project("elsewhere")),
            house=a_house(project, owner),
        )
        transaction.set_rollback(True)


@pytest.fixture
def house(standing):
    return standing.house


@pytest.fixture
def project(standing):
    return Project.objects.get(pk=standing.project.pk)


@pytest.fixture
def owner(standing):
    return User.objects.get(pk=standing.owner.pk)


@pytest.fixture
def operator(standing):
    return User.objects.get(pk=standing.operator.pk)


@pytest.fixture
def viewer(standing):
    return User.objects.get(pk=standing.viewer.pk)


@pytest.fixture
def stranger(standing):
    return User.objects.get(pk=standing.stranger.pk)


def a_house(project, owner):
    """Fill a project with one of everything that has an id."""
    run = a_run(project, name="the-secret-run")
    made = {
        "project_id": project,
        **of_runs(project, run, owner),
        **of_detection(project, run),
        **of_notices(project, run, owner),
        **of_people(project, owner),
    }
    passkey = Authenticator.objects.create(
        user=owner,
        type=credentials.FactorKind.PASSKEY,
        data={"name": "the-secret-passkey", "credential": a_credential()},
    )
    ids = {name: str(row.id) for name, row in made.items()}
    return SimpleNamespace(ids=ids, person=str(owner.pk), passkey=str(passkey.pk))


def of_runs(project, run, owner):
    put(run, a_call("cat the-secret-file"))
    shared = sharing.NewShare(run=run.id)
    return {
        "run_id": run,
        "message_id": Message.objects.create(run=run, text="the-secret-text", queued_at=NOON),
        "entry_id": AllowlistEntry.objects.create(
            project=project,
            scope="project",
            pattern="the-secret-call",
            created_by="ana",
            created_at=NOON,
        ),
        "view_id": SavedView.objects.create(
            user=owner, project=project, name="the-secret-view", q="", created_at=NOON
        ),
        "share_id": sharing.create_share(project.id, shared, by=owner, at=now()).row,
        "report_id": daily.make_report(project, date(2026, 11, 20), at=NOON),
    }


def of_detection(project, run):
    Recording.objects.create(
        run=run, project=project, sha256="0", file="the-secret-file", form="turns", by="a", at=NOON
    )
    PolicyVersion.objects.create(project=project, number=1, policy={}, by="ana", at=NOON)
    return {
        "backtest_id": Backtest.objects.create(
            project=project,
            policy={},
            today={},
            policy_version=0,
            runs=[],
            by="ana",
            at=NOON,
            beat_at=NOON,
        ),
    }


def of_notices(project, run, owner):
    browser = Browser.objects.create(
        user=owner, name="Ana's", kind="phone", created_at=NOON, seen_at=NOON
    )
    a_device(owner, f"https://push.example.com/{owner.username}", browser=browser)
    channel = a_channel(project, name="the-secret-channel")
    announcement = content.Announcement(title="t", body="the-secret-words")
    notice = Notice.objects.create(
        project=project,
        run=run,
        what="card",
        subject="s",
        at=NOON,
        content=content.dump(content.in_every_language(lambda _: announcement)),
    )
    delivery = Delivery.objects.create(
        notice=notice,
        project=project,
        what="card",
        kind="webhook",
        channel=channel,
        target="the-secret-channel",
        status="failed",
        created_at=NOON,
    )
    return {"device_id": browser, "channel_id": channel, "delivery_id": delivery}


def of_people(project, owner):
    return {
        "pairing_id": services.create_pairing(user=owner, at=now())[0].row,
        "code_id": services.create_setup_code(project, by="ana", at=now()).row,
        "key_id": accounts.mint_agent_key(project=project, name="the-secret-key", at=NOON).row,
        "token_id": accounts.mint_personal_token(user=owner, name="the-secret-token", at=NOON).row,
        "invitation_id": members.invite(
            project.id,
            role=Role.VIEWER,
            note="the-secret-guest",
            by=owner,
            at=now(),
            expires_at=now() + members.INVITATION_LIFE,
        ).row,
        "rule_id": JoiningRule.objects.create(
            project=project,
            by="group",
            value="the-secret-group",
            role=Role.VIEWER,
            created_at=NOON,
            created_by="ana",
        ),
    }


@pytest.fixture
def ask(house):
    """Ask an address of the house with what belongs in it; returns the answer."""

    def asked(client, verb, path, query=""):
        query = query or QUERIES.get(path, "").format(**house.ids)
        return client.generic(
            verb.upper(),
            f"/api/v1/{filled(path, house)}{query}",
            json.dumps(probe(path, house.ids)),
            content_type="application/json",
        )

    return asked


def filled(path, house):
    """Put the house's ids where an address takes some; of turns and versions, the first."""
    for name, value in house.ids.items():
        path = path.replace(f"<uuid:{name}>", value)
    path = path.replace("<int:user_id>", house.person)
    path = path.replace("<int:passkey_id>", house.passkey)
    return path.replace("<int:number>", "1").replace("<int:seq>", "0")


def probe(path, ids):
    """Return a body that would be taken, were it not for who sends it."""
    marks = {f"{{{name}}}": value for name, value in ids.items()}
    return {name: marks.get(str(value), value) for name, value in BODIES.get(path, {}).items()}


def sending(secret):
    client = APIClient()
    client.credentials(HTTP_AUTHORIZATION=f"Bearer {secret}")
    return client


def text_of(response):
    return b"".join(
        response.streaming_content if response.streaming else [response.content]
    ).decode()


def test_every_id_parameter_of_the_routes_is_covered(house):
    assert [path for _, path in EVERY if "<" in filled(path, house)] == []
    assert len(EVERY) > 70  # the walk really walks


@pytest.mark.parametrize(("verb", "path"), WITH_ID)
def test_what_is_in_another_project_does_not_exist(verb, path, ask, as_person, stranger):
    wanted = 403 if (verb, path) in AN_AGENTS else 404

    assert ask(as_person(stranger), verb, path).status_code == wanted


@pytest.mark.parametrize(("verb", "path"), WITH_ID)
def test_another_projects_agent_key_opens_nothing_here(verb, path, ask):
    key = accounts.mint_agent_key(project=a_project("third"), name="theirs", at=NOON).secret

    assert ask(sending(key), verb, path).status_code in {403, 404}


@pytest.mark.parametrize(("verb", "path"), EVERY)
def test_an_anonymous_caller_learns_nothing(verb, path, ask):
    response = ask(APIClient(), verb, path)

    assert response.status_code in {401, 403}
    assert "the-secret" not in text_of(response)


@pytest.mark.parametrize("path", LISTS)
@pytest.mark.parametrize("named", [False, True])
def test_a_strangers_lists_are_empty(path, named, ask, house, as_person, stranger):
    query = f"?project={house.ids['project_id']}" if named else ""

    text = text_of(ask(as_person(stranger), "get", path, query))

    assert "the-secret" not in text
    assert not [name for name, value in house.ids.items() if value in text]


@pytest.mark.parametrize(("verb", "path"), [one for one in WRITES if one[1] not in ONES_OWN])
def test_a_viewer_may_not_act(verb, path, ask, as_person, viewer):
    wanted = A_VIEWERS_TOO.get((verb, path))

    status = ask(as_person(viewer), verb, path).status_code

    assert status in ({403, 404} if wanted is None else {wanted})


@pytest.mark.parametrize(
    ("verb", "path"), [one for one in WRITES if one[1] != "setup-codes/exchange/"]
)
def test_a_session_cannot_write_without_the_csrf_token(verb, path, ask, owner):
    here = APIClient(enforce_csrf_checks=True)
    here.force_login(owner)

    response = ask(here, verb, path)

    assert response.status_code == 403
    assert "CSRF" in text_of(response)


@pytest.mark.parametrize(("verb", "path"), WRITES)
def test_a_read_only_token_writes_nothing(verb, path, ask, owner):
    only_reads = accounts.mint_personal_token(user=owner, name="r", at=NOON, scope=Scope.READ)

    assert ask(sending(only_reads.secret), verb, path).status_code == 403


@pytest.mark.parametrize("path", LISTS)
def test_api_responses_are_not_cached(path, as_person, owner):
    assert as_person(owner).get(f"/api/v1/{path}")["Cache-Control"] == "no-store"


def test_an_unknown_id_is_answered_like_a_foreign_one(as_person, stranger, house):
    them = as_person(stranger)

    unknown = them.get(f"/api/v1/runs/{uuid4()}/").json()
    ours = them.get(f"/api/v1/runs/{house.ids['run_id']}/").json()

    assert unknown == ours

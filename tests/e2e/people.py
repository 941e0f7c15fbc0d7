"""People beside the one who started the installation: tests share the server, not the project."""

from __future__ import annotations

import json

from playwright.sync_api import Page

from tests.contract.conversation import Caller
from tests.installations import Installation

SIGN_IN = """
import json, sys
from django.contrib.auth import BACKEND_SESSION_KEY, HASH_SESSION_KEY, SESSION_KEY
from django.contrib.auth.models import User
from missioncontrol.accounts.models import Membership
from missioncontrol.accounts.services import create_project
from missioncontrol.accounts.sessions import SessionStore
from missioncontrol.clock import now
from missioncontrol.demo.month import record_month
name = sys.argv[1]
user, _ = User.objects.get_or_create(username=name, first_name=name)
{first}
kept = SessionStore()
kept[SESSION_KEY] = str(user.pk)
kept[BACKEND_SESSION_KEY] = "django.contrib.auth.backends.ModelBackend"
kept[HASH_SESSION_KEY] = user.get_session_auth_hash()
kept.save()
print(json.dumps({{"mc_session": kept.session_key}}))
"""
OFFER_PAIRING = """
import json, sys
from django.contrib.auth.models import User
from missioncontrol.accounts import services
from missioncontrol.clock import now
_, code = services.create_pairing(user=User.objects.get(username=sys.argv[1]), at=now())
print(json.dumps({"code": code}))
"""
JOIN = (
    "Membership.objects.get_or_create("
    "user=user, project_id=sys.argv[2], defaults={'role': sys.argv[3]})"
)
OPEN_PROJECT = "project = create_project(name=name, owner=user, at=now())"
RECORD_MONTH = f"{OPEN_PROJECT}; record_month(project, at=now())"


def a_member(installation: Installation, name: str, *, role: str = "operator") -> dict[str, str]:
    """Let somebody join the installation's first project; returns their cookies."""
    return _signed_in(installation, JOIN, name, installation.project, role)


def an_owner(installation: Installation, name: str, *, month: bool = False) -> dict[str, str]:
    """Let somebody open a project of their own, `month`: with a month of judged runs behind it;
    returns their cookies.
    """
    return _signed_in(installation, RECORD_MONTH if month else OPEN_PROJECT, name)


def a_pairing_code(installation: Installation, name: str) -> str:
    """Return the code that *Pair a phone* shows somebody, where others reach the installation."""
    return _run(installation, OFFER_PAIRING, name)["code"]


def as_caller(page: Page, installation: Installation) -> Caller:
    """Speak to the API with a page's own session."""
    cookies = {str(one.get("name")): str(one.get("value")) for one in page.context.cookies()}
    cookie = "; ".join(f"{name}={value}" for name, value in cookies.items())
    headers = {"Cookie": cookie, "X-CSRFToken": cookies["mc_csrf"], "Origin": installation.url}
    return Caller(installation.url, headers)


def agent_of(page: Page, installation: Installation, project: str) -> tuple[str, Caller, Caller]:
    """Return an agent of a project, and its owner at the API."""
    owner = as_caller(page, installation)
    rows = owner.get("/api/v1/projects/")["results"]
    (place,) = [row["id"] for row in rows if row["name"] == project]
    made = owner.ask("POST", f"/api/v1/projects/{place}/keys/", {"name": "k", "reach": "project"})
    secret = made.json["secret"]
    return place, Caller(installation.url, {"Authorization": f"Bearer {secret}"}), owner


def _signed_in(installation: Installation, first: str, *args: str) -> dict[str, str]:
    return _run(installation, SIGN_IN.format(first=first), *args)


def _run(installation: Installation, code: str, *args: str) -> dict[str, str]:
    printed: dict[str, str] = json.loads(installation.in_python(code, *args))
    return printed

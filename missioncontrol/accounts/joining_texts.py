"""What the page of an invitation says, in each of our languages."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType


@dataclass(frozen=True, slots=True, kw_only=True)
class JoiningTexts:
    """One language's texts; `{…}` is filled in."""

    title: str
    paste_title: str
    paste: str
    paste_label: str
    go_on: str
    invites: str
    """`{by}` and `{project}`."""
    invites_nameless: str
    roles: Mapping[str, str]
    may: Mapping[str, str]
    your_name: str
    name_hint: str
    name_refused: str
    you_are: str
    """`{name}`: who is signed in here."""
    join: str
    join_hint: str
    until: str
    """`{day}`, in UTC."""
    over_title: str
    over: str
    already_title: str
    already: str
    open_it: str
    too_many: str


ENGLISH = JoiningTexts(
    title="Join a project",
    paste_title="Join by invitation",
    paste="Paste your invitation link. It works once.",
    paste_label="Invitation link",
    go_on="Continue",
    invites="{by} invites you to {project}",
    invites_nameless="You are invited to {project}",
    roles=MappingProxyType({"owner": "Owner", "operator": "Operator", "viewer": "Viewer"}),
    may=MappingProxyType(
        {
            "owner": "You can manage members, keys, budgets and rules.",
            "operator": "You can read everything and answer agents.",
            "viewer": "You can read everything, but not answer agents.",
        }
    ),
    your_name="Your name",
    name_hint="Shown to other members and in the audit log.",
    name_refused="This name is taken, empty, or too long. Choose another.",
    you_are="You are signed in as {name}.",
    join="Join",
    join_hint="works once; this browser stays signed in",
    until="Expires {day} UTC.",
    over_title="This invitation no longer works",
    over="It was used, revoked, or has expired. Ask for a new one.",
    already_title="You are already a member of this project",
    already="The invitation was not used. An owner can change your role under Settings, Members.",
    open_it="Open Mission Control",
    too_many="Too many attempts. Wait a moment, then try again.",
)

GERMAN = JoiningTexts(
    title="Einem Projekt beitreten",
    paste_title="Mit Einladung beitreten",
    paste="Den Einladungslink hier einfügen. Er gilt einmal.",
    paste_label="Einladungslink",
    go_on="Weiter",
    invites="{by} lädt zu {project} ein",
    invites_nameless="Einladung zu {project}",
    roles=MappingProxyType({"owner": "Eigentümer", "operator": "Operator", "viewer": "Betrachter"}),
    may=MappingProxyType(
        {
            "owner": "Verwaltet Mitglieder, Schlüssel, Budgets und Regeln.",
            "operator": "Liest alles und antwortet Agenten.",
            "viewer": "Liest alles, antwortet aber keinem Agenten.",
        }
    ),
    your_name="Name",
    name_hint="Andere Mitglieder sehen ihn, auch im Protokoll.",
    name_refused="Dieser Name ist vergeben, leer oder zu lang. Bitte einen anderen wählen.",
    you_are="Angemeldet als {name}.",
    join="Beitreten",
    join_hint="gilt einmal; dieser Browser bleibt angemeldet",
    until="Gültig bis {day} UTC.",
    over_title="Diese Einladung gilt nicht mehr",
    over="Sie wurde benutzt, zurückgenommen oder ist abgelaufen. Wer eingeladen hat, kann eine "
    "neue schicken.",
    already_title="Schon Mitglied dieses Projekts",
    already="Die Einladung wurde nicht verbraucht. Rollen ändern Eigentümer unter Einstellungen, "
    "Mitglieder.",
    open_it="Mission Control öffnen",
    too_many="Zu viele Versuche. Bitte einen Moment warten.",
)

JOINING_TEXTS: Mapping[str, JoiningTexts] = MappingProxyType({"en": ENGLISH, "de": GERMAN})

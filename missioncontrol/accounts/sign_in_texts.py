"""What the pages of signing in say, in each of our languages."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType


@dataclass(frozen=True, slots=True, kw_only=True)
class SignInTexts:
    """One language's texts; `{…}` is filled in."""

    title: str
    name: str
    passwords: str
    sign_in: str
    stays: str
    with_passkey: str
    with_provider: str
    """`{provider}`: as whoever runs this calls it."""
    or_else: str
    by_link: str
    by_code: str
    forgotten: str
    wrong: str
    too_many: str
    """`{wait}`: in words."""
    minutes: str
    """`{count}`, two or more."""
    seconds: str
    second_title: str
    second: str
    code: str
    code_hint: str
    wrong_code: str
    begin_again: str
    passkey_failed: str
    provider_failed: str
    not_let_in: str
    not_yours: str


ENGLISH = SignInTexts(
    title="Sign in",
    name="Name",
    passwords="Password",
    sign_in="Sign in",
    stays="this browser stays signed in",
    with_passkey="Sign in with a passkey",
    with_provider="Sign in with {provider}",
    or_else="or",
    by_link="Without any of these, a one-time link signs you in. Whoever runs Mission Control "
    "makes one:",
    by_code="Signed in on another device? Settings, Devices shows a code there:",
    forgotten="enter it here",
    wrong="Name or password is wrong.",
    too_many="Too many attempts from here. Wait {wait}, then try again.",
    minutes="{count} minutes",
    seconds="{count} s",
    second_title="Confirm that it is you",
    second="Your account asks for a second factor.",
    code="Code",
    code_hint="From your authenticator app, or one of your recovery codes.",
    wrong_code="This code is wrong, or was used already.",
    begin_again="Start again",
    passkey_failed="No passkey was accepted. Try again, or sign in another way.",
    provider_failed="The answer of {provider} could not be used. Try again.",
    not_let_in="{provider} knows you, but no project here lets you in. Ask an owner for an "
    "invitation.",
    not_yours="This account at {provider} is not yours here.",
)

GERMAN = SignInTexts(
    title="Anmelden",
    name="Name",
    passwords="Passwort",
    sign_in="Anmelden",
    stays="dieser Browser bleibt angemeldet",
    with_passkey="Mit Passkey anmelden",
    with_provider="Mit {provider} anmelden",
    or_else="oder",
    by_link="Ohne all das meldet ein Einmal-Link an. Wer Mission Control betreibt, erzeugt ihn:",
    by_code="Auf einem anderen Gerät angemeldet? Dort zeigt Einstellungen, Geräte einen Code:",
    forgotten="hier eingeben",
    wrong="Name oder Passwort ist falsch.",
    too_many="Zu viele Versuche von hier. Bitte {wait} warten.",
    minutes="{count} Minuten",
    seconds="{count} s",
    second_title="Anmeldung bestätigen",
    second="Dieses Konto verlangt einen zweiten Faktor.",
    code="Code",
    code_hint="Aus der Authenticator-App, oder einer der Wiederherstellungscodes.",
    wrong_code="Dieser Code ist falsch oder wurde schon benutzt.",
    begin_again="Von vorn beginnen",
    passkey_failed="Kein Passkey wurde angenommen. Noch einmal versuchen, oder anders anmelden.",
    provider_failed="Die Antwort von {provider} war nicht zu gebrauchen. Noch einmal versuchen.",
    not_let_in="{provider} kennt dieses Konto, aber kein Projekt hier lässt es ein. Eigentümer "
    "können einladen.",
    not_yours="Dieses Konto bei {provider} gehört hier jemand anderem.",
)

SIGN_IN_TEXTS: Mapping[str, SignInTexts] = MappingProxyType({"en": ENGLISH, "de": GERMAN})

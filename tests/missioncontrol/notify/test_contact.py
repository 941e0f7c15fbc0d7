"""Whom pushes name: somebody out there, or nobody."""

from __future__ import annotations

import pytest

from missioncontrol.notify.vapid import contact_of, problem_of


@pytest.mark.parametrize(
    "subject",
    [
        "mailto:ops@acme.dev",
        "https://mc.acme.dev",
        "https://host.tail5ff.ts.net:8443/x",
        "https://93.184.216.34",
    ],
)
def test_somebody_out_there_will_do(subject):
    assert problem_of(subject) is None


@pytest.mark.parametrize(
    ("subject", "problem"),
    [
        ("ops@acme.dev", "form"),
        ("mailto:", "form"),
        ("mailto:<ops@acme.dev>", "form"),
        ("mailto: ops@acme.dev", "form"),
        ("http://mc.acme.dev", "form"),
        ("https://", "form"),
        ("https://[", "form"),
        ("mailto:ops@localhost", "local"),
        ("mailto:ops@mc.local", "local"),
        ("https://localhost:8765", "local"),
        ("https://192.168.1.7", "local"),
        ("https://[::1]", "local"),
        ("mailto:missioncontrol@example.com", "local"),
        ("mailto:ops@x.invalid", "local"),
    ],
)
def test_what_apple_refuses_is_known(subject, problem):
    assert problem_of(subject) == problem


def test_who_is_configured_wins_over_the_address():
    assert contact_of("mailto:ops@acme.dev", "https://mc.acme.dev").subject == "mailto:ops@acme.dev"


def test_an_address_in_this_house_is_not_named_by_itself():
    assert contact_of("", "https://192.168.1.7:8765") == contact_of("", "")
    assert contact_of("", "").problem == "none"


def test_what_an_operator_set_is_said_even_if_apple_will_refuse_it():
    contact = contact_of("mailto:ops@mc.local", "")

    assert (contact.subject, contact.problem) == ("mailto:ops@mc.local", "local")

"""What a page of ours may load and call: its own host, and nothing inline."""

import pytest
from django.test import Client

pytestmark = pytest.mark.django_db


def policy(path="/", **fields):
    answer = Client().get(path, **fields)
    parts = [part.split() for part in answer["Content-Security-Policy"].split(";")]
    return {name: sources for name, *sources in parts}


def test_a_page_may_only_call_its_own_host(settings):
    settings.ALLOWED_HOSTS = ["mc.lan"]

    called = policy(headers={"Host": "mc.lan:8765"})["connect-src"]

    assert called == ["'self'", "ws://mc.lan:8765", "wss://mc.lan:8765"]


def test_behind_a_proxy_that_keeps_its_name_to_itself_the_public_one_is_called_too(settings):
    settings.ALLOWED_HOSTS, settings.PUBLIC_URL = ["127.0.0.1"], "https://mc.example.org"

    called = policy(headers={"Host": "127.0.0.1:8765"})["connect-src"]

    assert "wss://mc.example.org" in called


@pytest.mark.parametrize(
    "host", ["[::1]:8765", "evil.example", "evil.example; script-src *", "a b", ""]
)
def test_a_foreign_or_unwritable_host_is_in_no_policy(host):
    assert policy(headers={"Host": host})["connect-src"] == ["'self'"]


@pytest.mark.parametrize("path", ["/", "/api/v1/me/", "/no/such/page", "/healthz"])
def test_nothing_inline_and_no_other_host_is_allowed_anywhere(path):
    directives = policy(path)

    assert directives["default-src"] == ["'self'"]
    assert directives["img-src"] == ["'self'", "data:"]
    assert (directives["object-src"], directives["base-uri"], directives["frame-ancestors"]) == (
        ["'none'"],
        ["'none'"],
        ["'none'"],
    )
    assert not {"script-src", "style-src", "style-src-attr"} & set(directives)
    sources = [source for listed in directives.values() for source in listed]
    assert not {"'unsafe-inline'", "'unsafe-eval'", "*", "ws:", "wss:", "https:"} & set(sources)

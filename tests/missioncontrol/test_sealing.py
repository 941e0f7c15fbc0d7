"""Addresses are kept sealed, with a key that is not in the database."""

from __future__ import annotations

import pytest

from missioncontrol.sealing import UnsealFailed, fingerprint, seal, unseal


def test_a_sealed_text_can_be_unsealed():
    assert unseal(seal("slack://T0/B0/secret")) == "slack://T0/B0/secret"


def test_the_same_text_is_sealed_differently_each_time():
    assert seal("secret") != seal("secret")
    assert fingerprint("secret") == fingerprint("secret")


def test_another_secret_key_cannot_unseal_it_and_the_error_says_what_to_do(settings):
    sealed = seal("secret")
    settings.SECRET_KEY = "another one"

    with pytest.raises(UnsealFailed, match="enter its address again"):
        unseal(sealed)


def test_a_sealed_text_that_was_changed_is_refused():
    sealed = seal("secret")

    with pytest.raises(UnsealFailed):
        unseal(sealed[:-4] + "AAA=")

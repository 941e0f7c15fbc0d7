"""A certificate of this machine's own: good for its names, for nothing else, and renewed."""

import ssl
import stat
from datetime import UTC, datetime, timedelta

import pytest
from cryptography import x509

from missioncontrol import extras
from missioncontrol.up import tls

NOON = datetime(2026, 11, 21, 12, tzinfo=UTC)
NAMES = ["localhost", "studio", "studio.local", "127.0.0.1", "192.168.1.20", "::1"]


@pytest.fixture
def served(tmp_path):
    return tls.ensure_certificate(tmp_path, names=NAMES, at=NOON)


def leaf_of(files):
    return x509.load_pem_x509_certificate(files.chain.read_bytes())


def names_of(files):
    named = leaf_of(files).extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    return {str(one.value) for one in named}


def test_it_names_this_machine_and_its_addresses(served):
    assert names_of(served) == set(NAMES)


def test_a_server_can_use_it(served):
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)

    context.load_cert_chain(served.chain, served.key)

    assert leaf_of(served).not_valid_after_utc - NOON < timedelta(days=398)


def test_nobody_else_can_read_the_keys(served, tmp_path):
    for path in (served.key, tmp_path / "https" / "ca.key"):
        assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_a_valid_certificate_is_kept(served, tmp_path):
    before = served.chain.read_bytes()

    tls.ensure_certificate(tmp_path, names=NAMES, at=NOON + timedelta(days=300))

    assert served.chain.read_bytes() == before


@pytest.mark.parametrize(("name", "days"), [("server", 0), ("ca", 370)])
def test_a_key_that_does_not_match_is_replaced_with_its_certificate(name, days, served, tmp_path):
    other = tls.ensure_certificate(tmp_path / "other", names=NAMES, at=NOON).key.parent
    (tmp_path / "https" / f"{name}.key").write_bytes((other / f"{name}.key").read_bytes())

    again = tls.ensure_certificate(tmp_path, names=NAMES, at=NOON + timedelta(days=days))

    ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER).load_cert_chain(again.chain, again.key)
    authority = x509.load_pem_x509_certificate(again.authority.read_bytes())
    leaf_of(again).verify_directly_issued_by(authority)


def test_it_is_renewed_before_it_ends_under_the_same_authority(served, tmp_path):
    authority, before = served.authority.read_bytes(), served.chain.read_bytes()

    tls.ensure_certificate(tmp_path, names=NAMES, at=NOON + timedelta(days=370))

    assert served.authority.read_bytes() == authority
    assert served.chain.read_bytes() != before


def test_a_new_address_is_added_under_the_same_authority(served, tmp_path):
    authority = served.authority.read_bytes()

    tls.ensure_certificate(tmp_path, names=[*NAMES, "10.1.2.3"], at=NOON)

    assert "10.1.2.3" in names_of(served)
    assert served.authority.read_bytes() == authority


def test_a_public_address_of_this_machine_needs_an_authority_that_names_it(served, tmp_path):
    before = served.authority.read_bytes()

    files = tls.ensure_certificate(tmp_path, names=[*NAMES, "93.184.216.34"], at=NOON)

    authority = x509.load_pem_x509_certificate(files.authority.read_bytes())
    assert files.authority.read_bytes() != before
    assert "93.184.216.34" in names_of(files)
    assert not tls.permits_name(authority, "93.184.216.35")


@pytest.mark.parametrize(
    ("name", "allowed"),
    [
        ("studio", True),
        ("x.studio", True),
        ("studio.local", True),
        ("192.168.7.7", True),
        ("bank.example", False),
        ("8.8.8.8", False),
        ("notstudio", False),
    ],
)
def test_its_authority_is_limited_to_private_names(served, name, allowed):
    authority = x509.load_pem_x509_certificate(served.authority.read_bytes())

    assert tls.permits_name(authority, name) is allowed


def test_the_fingerprint_is_the_authoritys(served, tmp_path):
    import hashlib

    der = extras.authority_certificate(tmp_path)

    assert extras.authority_fingerprint(tmp_path).replace(":", "").lower() == (
        hashlib.sha256(der).hexdigest()
    )
    assert extras.authority_fingerprint(tmp_path / "nowhere") is None

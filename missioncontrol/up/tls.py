"""HTTPS without outside help: this machine's own certificate authority.

The authority may only vouch for this machine's names and addresses and for private ones (its
name constraints say so), so that a phone which trusts it trusts it for nothing else. Its key
never leaves the data directory.
"""

from __future__ import annotations

import ipaddress
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
    load_pem_private_key,
)
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from guard.sdk.connections import write_private

FOLDER = "https"
# It is trusted by hand on each phone, which nobody wants to do every year.
AUTHORITY_LIFE = timedelta(days=3650)
# Phones accept at most 825 days from an authority that was added by hand.
LEAF_LIFE = timedelta(days=397)
RENEW_BEFORE = timedelta(days=30)
# A phone's clock may be behind.
CLOCK_SKEW = timedelta(days=1)
# Private, link-local, loopback, and the range shared by providers and VPNs (RFC 6598).
PRIVATE_NETWORKS = (
    "10.0.0.0/8",
    "172.16.0.0/12",
    "192.168.0.0/16",
    "100.64.0.0/10",
    "127.0.0.0/8",
    "169.254.0.0/16",
    "fc00::/7",
    "fe80::/10",
    "::1/128",
)
# Names that no public authority signs, so that none of them can be somebody's site.
LOCAL_DOMAINS = ("localhost", "local", "lan", "home.arpa", "internal")
_NETWORKS = tuple(ipaddress.ip_network(block) for block in PRIVATE_NETWORKS)


@dataclass(frozen=True, slots=True, kw_only=True)
class CertificateFiles:
    """The files that a TLS server reads. `chain`: the leaf, then the authority."""

    key: Path
    chain: Path
    authority: Path


@dataclass(frozen=True, slots=True)
class Authority:
    """A certificate and its key."""

    certificate: x509.Certificate
    key: ec.EllipticCurvePrivateKey


def ensure_certificate(data: Path, *, names: list[str], at: datetime) -> CertificateFiles:
    """Return a certificate for these names and addresses; make what is missing or old."""
    folder = data / FOLDER
    files = CertificateFiles(
        key=folder / "server.key", chain=folder / "server.crt", authority=folder / "ca.crt"
    )
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    authority = _ensure_authority(folder, names, at)
    # Kept while it is valid, because a phone warns again for each new one.
    if _is_usable(files, authority.certificate, names, at):
        return files
    key = ec.generate_private_key(ec.SECP256R1())
    who = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "Mission Control")])
    named = [
        x509.IPAddress(address) if (address := _address(name)) else x509.DNSName(name)
        for name in names
    ]
    issuer = x509.AuthorityKeyIdentifier.from_issuer_public_key(authority.key.public_key())
    purpose = x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH])
    leaf = (
        _certificate_builder(who, authority.certificate.subject, key, at, LEAF_LIFE)
        .add_extension(x509.SubjectAlternativeName(named), critical=False)
        .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
        .add_extension(_key_usage(signs=False), critical=True)
        .add_extension(purpose, critical=False)
        .add_extension(issuer, critical=False)
        .sign(authority.key, hashes.SHA256())
    )
    write_private(files.key, _key_pem(key))
    write_private(files.chain, _certificate_pem(leaf) + _certificate_pem(authority.certificate))
    return files


def permits_name(authority: x509.Certificate, name: str) -> bool:
    """Say whether a name or address is within the authority's name constraints."""
    limits = authority.extensions.get_extension_for_class(x509.NameConstraints).value
    allowed = [one.value for one in limits.permitted_subtrees or []]
    address = _address(name)
    if address is None:
        # Without a leading dot it covers the domain and all below it (RFC 5280, 4.2.1.10).
        domains = [one for one in allowed if isinstance(one, str)]
        return any(name == one or name.endswith(f".{one}") for one in domains)
    networks = [one for one in allowed if not isinstance(one, str)]
    return any(network.version == address.version and address in network for network in networks)


def _ensure_authority(folder: Path, names: list[str], at: datetime) -> Authority:
    """Return the stored authority, or a new one if it is missing, expired or another machine's.

    It can sign only for this machine and its private network.
    """
    certificate, key_file = folder / "ca.crt", folder / "ca.key"
    if certificate.is_file() and key_file.is_file():
        read = load_pem_private_key(key_file.read_bytes(), password=None)
        # Somebody else's file in its place: replacing it silently would lose it.
        if not isinstance(read, ec.EllipticCurvePrivateKey):
            raise TypeError(f"{key_file} contains another kind of key")
        kept = Authority(x509.load_pem_x509_certificate(certificate.read_bytes()), read)
        is_ours = all(permits_name(kept.certificate, name) for name in names)
        # A start interrupted between the two files leaves a key that does not fit.
        is_whole = read.public_key() == kept.certificate.public_key()
        # It must outlive every leaf that it signs from now on.
        if is_ours and is_whole and kept.certificate.not_valid_after_utc - at > LEAF_LIFE:
            return kept
    key = ec.generate_private_key(ec.SECP256R1())
    host = next((name for name in names if not _address(name)), "this machine")
    who = x509.Name(
        [
            x509.NameAttribute(NameOID.ORGANIZATION_NAME, "Mission Control"),
            x509.NameAttribute(NameOID.COMMON_NAME, f"Mission Control on {host}"[:64]),
        ]
    )
    builder = _certificate_builder(who, who, key, at, AUTHORITY_LIFE)
    # Path length 0: what it signs cannot sign further certificates.
    builder = builder.add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
    # Limited to local names, private addresses and the names given: a phone that trusts this
    # authority must not thereby trust it for the web.
    domains = dict.fromkeys([*LOCAL_DOMAINS, *(name for name in names if not _address(name))])
    own = [ipaddress.ip_network(name) for name in names if _address(name)]
    networks = dict.fromkeys([*_NETWORKS, *own])
    allowed: list[x509.GeneralName] = [x509.DNSName(name) for name in domains]
    allowed += [x509.IPAddress(network) for network in networks]
    builder = builder.add_extension(
        x509.NameConstraints(permitted_subtrees=allowed, excluded_subtrees=None), critical=True
    )
    builder = builder.add_extension(_key_usage(signs=True), critical=True)
    made = Authority(builder.sign(key, hashes.SHA256()), key)
    write_private(key_file, _key_pem(key))
    write_private(certificate, _certificate_pem(made.certificate))
    return made


def _certificate_builder(
    subject: x509.Name,
    issuer: x509.Name,
    key: ec.EllipticCurvePrivateKey,
    at: datetime,
    life: timedelta,
) -> x509.CertificateBuilder:
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(at - CLOCK_SKEW)
        # Shortened by the skew: phones count the whole span, and refuse one that is too long.
        .not_valid_after(at + life - CLOCK_SKEW)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
    )


def _key_usage(*, signs: bool) -> x509.KeyUsage:
    return x509.KeyUsage(
        digital_signature=not signs,
        key_cert_sign=signs,
        crl_sign=signs,
        content_commitment=False,
        key_encipherment=False,
        data_encipherment=False,
        key_agreement=False,
        encipher_only=False,
        decipher_only=False,
    )


def _is_usable(
    files: CertificateFiles, authority: x509.Certificate, names: list[str], at: datetime
) -> bool:
    """Whether the stored leaf is this authority's, has all these names, and does not end soon."""
    if not files.key.is_file() or not files.chain.is_file():
        return False
    leaf = x509.load_pem_x509_certificate(files.chain.read_bytes())
    named = leaf.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    known = {str(one.value) for one in named}
    # A start interrupted between the two files leaves a key that does not fit this leaf.
    key = load_pem_private_key(files.key.read_bytes(), password=None)
    if key.public_key() != leaf.public_key():
        return False
    # Two authorities of one machine have the same name: only their keys show whose leaf it is.
    is_signed = leaf.issuer == authority.subject and authority.extensions.get_extension_for_class(
        x509.SubjectKeyIdentifier
    ).value.digest == (
        leaf.extensions.get_extension_for_class(x509.AuthorityKeyIdentifier).value.key_identifier
    )
    return is_signed and set(names) <= known and leaf.not_valid_after_utc - at > RENEW_BEFORE


def _address(name: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    try:
        return ipaddress.ip_address(name)
    except ValueError:
        return None


def _key_pem(key: ec.EllipticCurvePrivateKey) -> bytes:
    return key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())


def _certificate_pem(certificate: x509.Certificate) -> bytes:
    return certificate.public_bytes(Encoding.PEM)

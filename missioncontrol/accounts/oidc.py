"""Sign-in by OpenID Connect: the authorization code flow with PKCE, state and nonce.

Only claims that the ID token makes under the provider's signature are believed, and userinfo
about the same subject (OpenID Connect Core 1.0, 3.1.3.7 and 5.3.2).
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
import secrets
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from urllib.parse import urlencode, urlsplit

from missioncontrol import outbound
from missioncontrol.env import IdentityProvider

SCOPE = "openid profile email"
# Signatures by a key that only the provider has; never `none`, never a shared secret.
ALGORITHMS = frozenset(
    ["RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "EdDSA"]
)
# The most by which the provider's clock may differ from ours.
LEEWAY_S = 60
# A provider may list any number of groups; no more than these are read.
MAX_GROUPS = 1000


class IdentityRefused(Exception):
    """The provider's answer proves nothing; the message says why, for the log."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AuthorizationRequest:
    """Where to send the browser, and what its session stores until it is back."""

    url: str
    session_data: dict[str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class ProviderIdentity:
    """A person's identity, as the provider states it."""

    issuer: str
    subject: str
    name: str
    email: str
    """Empty unless the provider has verified it."""
    groups: frozenset[str]


def begin_sign_in(
    provider: IdentityProvider, *, redirect_uri: str, at: datetime, is_again: bool = False
) -> AuthorizationRequest:
    """Prepare a sign-in; `is_again`: the provider must ask for the password again.

    Raises:
        IdentityRefused: the provider cannot be asked.
    """
    # Three secrets against three attacks: a forged answer, a token of another sign-in, a stolen
    # code.
    state, nonce, verifier = (secrets.token_urlsafe(32) for _ in range(3))
    challenge = base64.urlsafe_b64encode(hashlib.sha256(verifier.encode()).digest())
    params = {
        "response_type": "code",
        "client_id": provider.client,
        "redirect_uri": redirect_uri,
        "scope": SCOPE,
        "state": state,
        "nonce": nonce,
        "code_challenge": challenge.rstrip(b"=").decode(),
        "code_challenge_method": "S256",
        # `max_age` makes the ID token state when the person signed in (OpenID Connect Core, 2);
        # `prompt` alone does not.
        **({"prompt": "login", "max_age": "0"} if is_again else {}),
    }
    # Read at each sign-in: a provider's addresses and keys may change at any time.
    address = _fetch_configuration(provider)["authorization_endpoint"]
    url = f"{address}{'&' if '?' in address else '?'}{urlencode(params)}"
    begun_at = str(at.timestamp())
    session_data = {"state": state, "nonce": nonce, "verifier": verifier, "begun_at": begun_at}
    return AuthorizationRequest(url=url, session_data=session_data)


def finish_sign_in(
    provider: IdentityProvider,
    session_data: Mapping[str, str],
    answer: Mapping[str, str],
    *,
    redirect_uri: str,
    is_again: bool = False,
) -> ProviderIdentity:
    """Exchange the returned code for an identity; `is_again`: the sign-in must be new.

    Raises:
        IdentityRefused: another browser began the sign-in, or the answer is invalid.
    """
    # Checked first: a sign-in that another browser began must not sign this one in.
    if not hmac.compare_digest(answer.get("state", "").encode(), session_data["state"].encode()):
        raise IdentityRefused("the state does not match the one sent with this browser")
    if answer.get("iss", provider.issuer).rstrip("/") != provider.issuer:
        raise IdentityRefused("another issuer answered")  # RFC 9207
    if "code" not in answer:
        raise IdentityRefused(f"the provider said {answer.get('error', 'nothing')[:60]!r}")
    configuration = _fetch_configuration(provider)
    tokens = _exchange_code(provider, configuration, session_data, answer["code"], redirect_uri)
    claims = _verify_id_token(
        provider, configuration, str(tokens.get("id_token", "")), session_data["nonce"]
    )
    signed_in_at = claims.get("auth_time")
    # Requested by `max_age` and checked here, because a provider may ignore the request.
    is_new = (
        isinstance(signed_in_at, int) and signed_in_at >= float(session_data["begun_at"]) - LEEWAY_S
    )
    if is_again and not is_new:
        raise IdentityRefused("the provider did not require a new sign-in")
    claims |= _fetch_userinfo(provider, configuration, claims, tokens)
    # An unverified address could be anybody's, and would match the rules of its domain.
    is_verified, email = claims.get("email_verified") is True, claims.get("email")
    # Some providers send a single group as a string.
    groups = claims.get(provider.groups_claim, [])
    group_list = [groups] if isinstance(groups, str) else groups if isinstance(groups, list) else []
    return ProviderIdentity(
        issuer=provider.issuer,
        subject=str(claims["sub"]),
        name=str(claims.get("name") or claims.get("preferred_username") or email or ""),
        email=email.lower() if isinstance(email, str) and is_verified else "",
        groups=frozenset(str(group) for group in group_list[:MAX_GROUPS]),
    )


def _fetch_configuration(provider: IdentityProvider) -> dict[str, Any]:
    configuration = _fetch_json(provider, f"{provider.issuer}/.well-known/openid-configuration")
    if str(configuration.get("issuer", "")).rstrip("/") != provider.issuer:
        raise IdentityRefused("the configuration belongs to another issuer")
    for name in ("authorization_endpoint", "token_endpoint", "jwks_uri"):
        if not isinstance(configuration.get(name), str):
            raise IdentityRefused(f"the configuration has no {name}")
    return configuration


def _exchange_code(
    provider: IdentityProvider,
    configuration: Mapping[str, Any],
    session_data: Mapping[str, str],
    code: str,
    redirect_uri: str,
) -> dict[str, Any]:
    form = {
        "grant_type": "authorization_code",
        "code": code,
        "redirect_uri": redirect_uri,
        "client_id": provider.client,
        "code_verifier": session_data["verifier"],
    }
    headers = {"Content-Type": "application/x-www-form-urlencoded"}
    methods = configuration.get("token_endpoint_auth_methods_supported", ["client_secret_basic"])
    # Either is allowed; in the body nothing has to be escaped twice.
    if provider.secret and "client_secret_post" in methods:
        form["client_secret"] = provider.secret
    elif provider.secret:
        # RFC 6749, 2.3.1: both are form-encoded before they are joined.
        pair = urlencode({provider.client: provider.secret}).replace("=", ":", 1)
        headers["Authorization"] = f"Basic {base64.b64encode(pair.encode()).decode()}"
    body = urlencode(form).encode()
    return _fetch_json(provider, configuration["token_endpoint"], body=body, headers=headers)


def _verify_id_token(
    provider: IdentityProvider, configuration: Mapping[str, Any], token: str, nonce: str
) -> dict[str, Any]:
    """Return the claims of an ID token of this provider, for this client and this sign-in."""
    import jwt

    key_set = _fetch_json(provider, configuration["jwks_uri"])
    try:
        head = jwt.get_unverified_header(token)
        # The token names its algorithm, so it must be in our list: "none" and HMAC are forgeries.
        if head.get("alg") not in ALGORITHMS:
            raise IdentityRefused(f"the ID token is signed by {head.get('alg')!r}")
        # A key for encryption must not verify a signature.
        keys = [key for key in jwt.PyJWKSet.from_dict(key_set).keys if key.public_key_use != "enc"]
        if "kid" in head:
            keys = [key for key in keys if key.key_id == head["kid"]]
        # Without a `kid` and with several keys, one would have to guess: refused.
        if len(keys) != 1:
            raise IdentityRefused("the ID token is signed with none of the provider's keys")
        claims: dict[str, Any] = jwt.decode(
            token,
            keys[0],
            algorithms=[head["alg"]],
            audience=provider.client,
            issuer=configuration["issuer"],
            leeway=LEEWAY_S,
            options={"require": ["iss", "aud", "exp", "iat", "sub", "nonce"]},
        )
    except jwt.PyJWTError as error:
        raise IdentityRefused(f"the ID token: {error}"[:200]) from error
    if not hmac.compare_digest(str(claims["nonce"]).encode(), nonce.encode()):
        raise IdentityRefused("the ID token was made for another sign-in")
    if claims.get("azp", provider.client) != provider.client:
        raise IdentityRefused("the ID token was made for another client")
    return claims


def _fetch_userinfo(
    provider: IdentityProvider,
    configuration: Mapping[str, Any],
    claims: Mapping[str, Any],
    tokens: Mapping[str, Any],
) -> dict[str, Any]:
    """Return claims that the ID token lacks; ask nothing if it has them all."""
    wanted = {"email", "email_verified", "name", provider.groups_claim}
    address = configuration.get("userinfo_endpoint")
    # Each request to the provider can fail, or be slow.
    if wanted <= claims.keys() or not address or "access_token" not in tokens:
        return {}
    info = _fetch_json(
        provider, address, headers={"Authorization": f"Bearer {tokens['access_token']}"}
    )
    if info.get("sub") != claims["sub"]:
        raise IdentityRefused("userinfo names another account")
    return {name: info[name] for name in wanted & info.keys() if name not in claims}


def _fetch_json(
    provider: IdentityProvider,
    url: str,
    *,
    body: bytes | None = None,
    headers: Mapping[str, str] | None = None,
) -> dict[str, Any]:
    """Ask the provider; its host may be on a private network, because the operator named it."""
    try:
        reply = outbound.call(
            url,
            body,
            {"Accept": "application/json", **(headers or {})},
            private_hosts=[urlsplit(provider.issuer).netloc],
        )
        answer = json.loads(reply.body) if reply.is_success else None
    except (outbound.RequestFailed, ValueError) as error:
        raise IdentityRefused(f"{urlsplit(url).path} was not answered: {error}"[:200]) from error
    if not isinstance(answer, dict):
        raise IdentityRefused(f"{urlsplit(url).path} answered {reply.status} and no object")
    return answer

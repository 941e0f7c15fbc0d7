"""All errors raised on purpose, as one tree.

    MissionControlError
    ├── SettingInvalid          an environment variable has an invalid value
    ├── InvalidRequest          400  the body or a parameter could not be read
    ├── NotSignedIn             401  no key, token or session
    ├── Forbidden               403  a role or a project setting does not allow it
    │   ├── ProjectArchived     403  the project can only be read
    │   ├── SecondFactorNeeded  403  the project is closed to people without a second factor
    │   └── SignInAgain         403  prove who you are, then ask again
    ├── NotFound                404  does not exist, for you
    ├── WrongMethod             405  the address has another method
    ├── NoSuchMove              409  the run's status does not allow it
    ├── AgentsWaiting           409  the project's agents wait for answers
    ├── LastOwner               409  the project would have no owner left
    ├── StaleRun                409  the run has changed since you looked
    ├── StalePolicy             409  the project's policy has changed since you looked
    ├── ActionUnavailable       409  this card does not offer that answer
    ├── BodyTooLarge            413  the body exceeds the limit
    ├── WrongMediaType          415  a body of an unsupported kind
    ├── KeyReused               422  the same key came with another body
    ├── TooManyRequests         429  wait a little
    ├── TooManyOpenRuns         429  end some runs first
    └── Unavailable             503  not now; send it again

Each has a stable `code`, an HTTP `status` and one sentence as its text.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Any, ClassVar, TypeVar

T = TypeVar("T")


class MissionControlError(Exception):
    """Base class of everything this package raises on purpose."""

    # Programs distinguish errors by it: it stays the same when a sentence is reworded.
    code: ClassVar[str] = "error"
    status: ClassVar[int] = 500
    title: ClassVar[str] = "Something went wrong"

    wait_s = 0
    """Seconds after which to try again; 0 if that is useless."""

    def extra(self) -> dict[str, Any]:
        """Return further members of the problem document."""
        return {}

    def headers(self) -> dict[str, str]:
        """Return further headers of the response."""
        return {"Retry-After": str(self.wait_s)} if self.wait_s else {}


class SettingInvalid(MissionControlError):
    code = "setting_invalid"
    title = "A setting cannot be used"

    def __init__(self, name: str, value: str, expected: str) -> None:
        super().__init__(f"{name} is {value!r}; expected {expected}.")


class InvalidRequest(MissionControlError):
    code = "invalid_request"
    status = 400
    title = "The request could not be read"

    def __init__(self, detail: str, **fields: Any) -> None:
        super().__init__(detail)
        self.fields = fields

    def extra(self) -> dict[str, Any]:
        return self.fields


class NotSignedIn(MissionControlError):
    code = "not_signed_in"
    status = 401
    title = "Not signed in"

    def __init__(
        self,
        detail: str = "Send a key, a token or a signed-in session.",
        *,
        methods: Collection[str] = (),
    ) -> None:
        super().__init__(detail)
        self.methods = methods

    def extra(self) -> dict[str, Any]:
        return {"sign_in": sorted(self.methods)} if self.methods else {}


class Forbidden(MissionControlError):
    code = "forbidden"
    status = 403
    title = "Not allowed"


# Subclasses of Forbidden with their own codes: a client that knows only 403 understands them too.
class ProjectArchived(Forbidden):
    code = "project_archived"
    title = "The project is archived"

    def __init__(self) -> None:
        super().__init__(
            "This project is archived: it is read-only, and its agent keys are refused "
            "until an owner restores it."
        )


class SecondFactorNeeded(Forbidden):
    code = "second_factor_needed"
    title = "A second factor is needed"

    def __init__(self) -> None:
        super().__init__(
            "This project requires a second factor: set one up under Settings, Your account."
        )


class SignInAgain(Forbidden):
    code = "sign_in_again"
    title = "Confirm your identity"

    def __init__(self, methods: tuple[str, ...]) -> None:
        super().__init__("You signed in some time ago: confirm your identity, then try again.")
        self.methods = methods

    def extra(self) -> dict[str, Any]:
        # Only the methods that this person has: the page must offer none that leads to nothing.
        return {"ways": list(self.methods)}


# Also for what exists but belongs to others: a stranger must not learn that it exists.
class NotFound(MissionControlError):
    code = "not_found"
    status = 404
    title = "Not found"

    def __init__(self, what: str = "That") -> None:
        super().__init__(f"{what} does not exist here.")


def ensure_found(found: T | None, what: str) -> T:
    """Return what was looked up, if it exists.

    Raises:
        NotFound: it is None; `what` names it in the sentence.
    """
    if found is None:
        raise NotFound(what)
    return found


class WrongMethod(MissionControlError):
    code = "method_not_allowed"
    status = 405
    title = "Method not allowed"

    def __init__(self, method: str, *, allowed: str) -> None:
        super().__init__(f"{method} is not offered here.")
        self.allowed = allowed

    def headers(self) -> dict[str, str]:
        """Say which is: an answer 405 has to (RFC 9110)."""
        return {"Allow": self.allowed}


class NoSuchMove(MissionControlError):
    code = "no_such_move"
    status = 409
    title = "The run cannot do that now"

    def __init__(self, status: str, move: str) -> None:
        super().__init__(f"A run that is {status} cannot {move}.")


class AgentsWaiting(MissionControlError):
    code = "agents_waiting"
    status = 409
    title = "Agents are waiting for an answer"

    def __init__(self, runs: int) -> None:
        which = "A run of this project waits" if runs == 1 else f"{runs} of its runs wait"
        super().__init__(f"{which} for a person. Answer or end them first, then archive it.")


class LastOwner(MissionControlError):
    code = "last_owner"
    status = 409
    title = "A project needs an owner"

    def __init__(self) -> None:
        super().__init__("Nobody else owns this project. Make somebody an owner first.")


class StaleRun(MissionControlError):
    code = "stale_run"
    status = 409
    title = "This run has moved on"

    def __init__(self, detail: str, *, run: Any, decision: Any) -> None:
        super().__init__(detail)
        self.run = run
        self.decision = decision

    def extra(self) -> dict[str, Any]:
        # Part of the error, so that the screen shows the current state without another request.
        return {"run": self.run, "decision": self.decision}


class StalePolicy(MissionControlError):
    code = "stale_policy"
    status = 409
    title = "The policy has moved on"

    def __init__(self, *, by: str, number: int) -> None:
        super().__init__(f"The policy has moved on: {by} saved v{number}. Yours was not saved.")
        self.number = number

    def extra(self) -> dict[str, Any]:
        return {"policy_version": self.number}


class ActionUnavailable(MissionControlError):
    code = "action_unavailable"
    status = 409
    title = "That answer is not available"


class BodyTooLarge(MissionControlError):
    code = "body_too_large"
    status = 413
    title = "The body is too large"


# As in the IETF's draft on the Idempotency-Key header: another body under the same key is refused.
class KeyReused(MissionControlError):
    code = "key_reused"
    status = 422
    title = "That key was used for another request"

    def __init__(self, key: str) -> None:
        super().__init__(f"The key {key!r} was used before with another body; send a new key.")


class WrongMediaType(MissionControlError):
    code = "wrong_media_type"
    status = 415
    title = "This kind of body is not supported"


class TooManyRequests(MissionControlError):
    code = "too_many_requests"
    status = 429
    title = "Too many requests"

    def __init__(self, *, wait_s: int) -> None:
        super().__init__(f"Too many attempts. Wait {wait_s} s.")
        self.wait_s = wait_s

    def extra(self) -> dict[str, Any]:
        return {"wait_s": self.wait_s}


class TooManyOpenRuns(MissionControlError):
    code = "too_many_open_runs"
    status = 429
    title = "Too many open runs"
    # Only a run's end frees a place, so it is useless to try again at once.
    wait_s = 60

    def __init__(self, whose: str, limit: int) -> None:
        super().__init__(f"At most {limit} open runs of a {whose}; end some first.")


class Unavailable(MissionControlError):
    code = "unavailable"
    status = 503
    title = "Not now; send it again"

    def __init__(self, detail: str, *, wait_s: int = 1) -> None:
        super().__init__(detail)
        self.wait_s = wait_s

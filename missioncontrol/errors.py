"""What can go wrong, as one tree.

    MissionControlError
    ├── SettingInvalid          an environment variable has a value we cannot use
    ├── InvalidRequest          400  the body or a parameter could not be read
    ├── NotSignedIn             401  no key, token or session
    ├── Forbidden               403  a role or a project setting says no
    │   ├── ProjectArchived     403  the project can only be read
    │   ├── SecondFactorNeeded  403  the project is closed to who has none
    │   └── SignInAgain         403  prove who you are, then ask again
    ├── NotFound                404  does not exist, for you
    ├── WrongMethod             405  the address has another method
    ├── NoSuchMove              409  the run's status has no such move
    ├── AgentsWaiting           409  the project's agents wait for answers
    ├── LastOwner               409  the project would have no owner left
    ├── StaleRun                409  the run moved on since you looked
    ├── StalePolicy             409  the project's policy moved on since you looked
    ├── ActionUnavailable       409  this card does not offer that answer
    ├── BodyTooLarge            413
    ├── WrongMediaType          415  a body of a kind we do not read
    ├── KeyReused               422  the same key came with another body
    ├── TooManyRequests         429  wait a little
    ├── TooManyOpenRuns         429  end some runs first
    └── Unavailable             503  not now; send it again

Each has a stable `code`, an HTTP `status` and one sentence as its text.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Any, ClassVar, TypeVar

Found = TypeVar("Found")


class MissionControlError(Exception):
    """Everything this package raises on purpose."""

    # Programs tell errors apart by it: it stays when a sentence is put better.
    code: ClassVar[str] = "error"
    status: ClassVar[int] = 500
    title: ClassVar[str] = "Something went wrong"

    wait_s = 0
    """In how many seconds to ask again; 0: that would be in vain."""

    def extra(self) -> dict[str, Any]:
        """Return further members of the problem document."""
        return {}

    def headers(self) -> dict[str, str]:
        """Return what else the answer's head says."""
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
        ways: Collection[str] = (),
    ) -> None:
        super().__init__(detail)
        self.ways = ways

    def extra(self) -> dict[str, Any]:
        return {"sign_in": sorted(self.ways)} if self.ways else {}


class Forbidden(MissionControlError):
    code = "forbidden"
    status = 403
    title = "Not allowed"


# Below Forbidden, with codes of their own: a client that knows only 403 still understands them.
class ProjectArchived(Forbidden):
    code = "project_archived"
    title = "The project is archived"

    def __init__(self) -> None:
        super().__init__(
            "This project is archived: it can only be read, and its keys refuse agents, "
            "until an owner brings it back."
        )


class SecondFactorNeeded(Forbidden):
    code = "second_factor_needed"
    title = "A second factor is needed"

    def __init__(self) -> None:
        super().__init__(
            "This project asks its members for a second factor: set one up under "
            "Settings, Your account."
        )


class SignInAgain(Forbidden):
    code = "sign_in_again"
    title = "Show that it is you"

    def __init__(self, ways: tuple[str, ...]) -> None:
        super().__init__("You signed in some time ago: show that it is still you, then ask again.")
        self.ways = ways

    def extra(self) -> dict[str, Any]:
        # Theirs alone: the page offers no way that would lead to nothing.
        return {"ways": list(self.ways)}


# Also for what is there and belongs to others: a stranger is not told that it exists.
class NotFound(MissionControlError):
    code = "not_found"
    status = 404
    title = "Not found"

    def __init__(self, what: str = "That") -> None:
        super().__init__(f"{what} does not exist here.")


def existing(found: Found | None, what: str) -> Found:
    """Return what was looked up.

    Raises:
        NotFound: there is none; `what` names it in the sentence.
    """
    if found is None:
        raise NotFound(what)
    return found


class WrongMethod(MissionControlError):
    code = "method_not_allowed"
    status = 405
    title = "Not offered here"

    def __init__(self, method: str, *, offered: str) -> None:
        super().__init__(f"{method} is not offered here.")
        self.offered = offered

    def headers(self) -> dict[str, str]:
        """Say which is: an answer 405 has to (RFC 9110)."""
        return {"Allow": self.offered}


class NoSuchMove(MissionControlError):
    code = "no_such_move"
    status = 409
    title = "The run cannot do that now"

    def __init__(self, status: str, move: str) -> None:
        super().__init__(f"A run that is {status} cannot {move}.")


class AgentsWaiting(MissionControlError):
    code = "agents_waiting"
    status = 409
    title = "Agents wait for an answer"

    def __init__(self, runs: int) -> None:
        which = "A run of this project waits" if runs == 1 else f"{runs} of its runs wait"
        super().__init__(f"{which} for a person. Answer or end what waits, then archive it.")


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
        # In the refusal itself: the screen shows what is true now without asking again.
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
    title = "That answer is not offered"


class BodyTooLarge(MissionControlError):
    code = "body_too_large"
    status = 413
    title = "The body is too large"


# As the IETF's draft on the Idempotency-Key header has it: with another body it is refused.
class KeyReused(MissionControlError):
    code = "key_reused"
    status = 422
    title = "That key was used for something else"

    def __init__(self, key: str) -> None:
        super().__init__(f"The key {key!r} came before with another body; send a new key.")


class WrongMediaType(MissionControlError):
    code = "wrong_media_type"
    status = 415
    title = "This kind of body is not read here"


class TooManyRequests(MissionControlError):
    code = "too_many_requests"
    status = 429
    title = "Too many requests"

    def __init__(self, *, wait_s: int) -> None:
        super().__init__(f"Too many tries. Wait {wait_s} s.")
        self.wait_s = wait_s

    def extra(self) -> dict[str, Any]:
        return {"wait_s": self.wait_s}


class TooManyOpenRuns(MissionControlError):
    code = "too_many_open_runs"
    status = 429
    title = "Too many open runs"
    # Only a run's end frees a place: to ask at once would be in vain.
    wait_s = 60

    def __init__(self, whose: str, most: int) -> None:
        super().__init__(f"At most {most} open runs of a {whose}; end some first.")


class Unavailable(MissionControlError):
    code = "unavailable"
    status = 503
    title = "Not now; send it again"

    def __init__(self, detail: str, *, wait_s: int = 1) -> None:
        super().__init__(detail)
        self.wait_s = wait_s

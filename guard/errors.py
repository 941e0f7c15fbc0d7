"""What can go wrong in guard.

GuardError
├── Stopped              a person, a policy or a silence ended this run
├── ServerAway           no answer from Mission Control (never leaves the SDK)
│   └── NotTheServer     another program answered in its place
├── ServerRefused        it answered with an error (never leaves the SDK)
├── UnreadableHook       a hook body that is not one of this agent's
├── ConnectRefused       settings that `guard connect` will not write
├── PolicyInvalid        a policy whose field is wrong, with what was expected
├── UnreadableRecording  a file that holds no recorded run guard knows
├── ToolFailed           a tool of guard.runtime failed; the model reads why
├── ModelFailed          an endpoint gave no completion
├── EmbeddingMissing     a model of word vectors that is not on this machine
└── FrameworkMissing     an adapter without the framework it adapts
"""

from __future__ import annotations

from collections.abc import Sequence


class GuardError(Exception):
    """Any error that guard raises; `code` is stable, the text is for people."""

    code = "guard_error"


class Stopped(GuardError):
    """The run was ended: the agent must do nothing more.

    The only error that a Session raises into its host, since going on would be wrong.
    """

    code = "stopped"

    def __init__(self, reason: str | None = None) -> None:
        self.reason = reason or "stopped by Mission Control"
        super().__init__(self.reason)


class ServerAway(GuardError):
    """Mission Control did not answer: connection refused, timed out or cut off.

    `retry_after_s`: in how many seconds it asked to be called again, if it did.
    """

    code = "server_away"

    def __init__(self, reason: str, *, retry_after_s: float | None = None) -> None:
        self.retry_after_s = retry_after_s
        super().__init__(reason)


class NotTheServer(ServerAway):
    """Another program answered at Mission Control's address, such as a proxy's page."""

    code = "not_the_server"


class ServerRefused(GuardError):
    """Mission Control answered with an error of its own."""

    code = "server_refused"

    def __init__(self, status: int, detail: str) -> None:
        self.status = status
        super().__init__(f"Mission Control answered {status}: {detail}")


class UnreadableHook(GuardError):
    """A hook body without the fields that every body of this agent has."""

    code = "unreadable_hook"


class ConnectRefused(GuardError):
    """Writing these settings would break something or leak the key."""

    code = "connect_refused"


class PolicyInvalid(GuardError, ValueError):
    """A policy's field is wrong. Also a ValueError, so that pydantic reports it.

    `others` are further wrong fields: all are reported at once.
    """

    code = "policy_invalid"

    def __init__(
        self, field: str, expected: str, got: object, others: Sequence[PolicyInvalid] = ()
    ) -> None:
        self.field = field
        self.expected = expected
        self.got = got
        self.others = tuple(others)
        # The value is cut: it may be a whole file, and is shown in terminals and responses.
        sentence = f"policy field {field!r}: expected {expected}, got {got!r:.80}"
        super().__init__("\n".join([sentence, *map(str, others)]))

    @property
    def problems(self) -> tuple[PolicyInvalid, ...]:
        """Every wrong field, this one first."""
        return (self, *self.others)

    def under(self, path: str) -> PolicyInvalid:
        """Return the same error for a table at `path`."""
        return PolicyInvalid(
            ".".join(part for part in (path, self.field) if part),
            self.expected,
            self.got,
            [other.under(path) for other in self.others],
        )


class UnreadableRecording(GuardError):
    """A file that holds no recorded run in a form guard knows."""

    code = "unreadable_recording"

    def __init__(self, path: str, reason: str) -> None:
        self.path = path
        self.reason = reason
        super().__init__(f"{path}: {reason}")


class ToolFailed(GuardError):
    """A tool could not do what was asked; the model reads the sentence."""

    code = "tool_failed"


class ModelFailed(GuardError):
    """The endpoint did not answer, or did not answer with a completion.

    `status` and `detail` come from its answer, if there was one; the detail may
    hold anything and is not shown.
    """

    code = "model_failed"

    def __init__(self, sentence: str, *, status: int | None = None, detail: str = "") -> None:
        self.status = status
        self.detail = detail
        super().__init__(sentence)


class EmbeddingMissing(GuardError):
    """The package or the files of a chosen embedding are not here."""

    code = "embedding_missing"


# An ImportError too, so that `except ImportError` in hosts with an optional adapter catches it.
class FrameworkMissing(GuardError, ImportError):
    """An adapter was imported but its framework is not installed; also an ImportError."""

    code = "framework_missing"

    def __init__(self, adapter: str, package: str, cause: ImportError) -> None:
        self.package = package
        super().__init__(f"{adapter} needs the package {package}: {cause}")

"""A model as judge, behind any OpenAI-compatible endpoint.

It gets the case as fenced data (`guard.judge.prompt`), and its answer is checked
field by field (`guard.judge.answers`): it can only choose a verdict and a text. It
never raises and never hangs: a question ends within its time with a verdict or
with the reason why there is none.
"""

from __future__ import annotations

import secrets
import time
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from decimal import Decimal
from typing import Any

from guard.chat import ChatEndpoint, usage_of
from guard.errors import ModelFailed
from guard.judge.answers import UnusableAnswer, read_verdict
from guard.judge.case import Case, JudgeCall, Ruling
from guard.judge.prompt import VERDICT_SCHEMA, write_prompt
from guard.pricing import price, read_dollars
from guard.turn import Usage

TIMEOUT_S = 20.0
# Tokens of an answer: a verdict takes 200, the rest is for thinking before it.
MAX_TOKENS = 4_096
# How many times more head-room the second try has.
RETRY_FACTOR = 4
MAX_ANSWER_BYTES = 2_000_000
# How servers answer a field that they do not know; other statuses have other causes.
_UNKNOWN_FIELD_STATUSES = frozenset({400, 404, 415, 422})
# Two answer forms, the limit's name and the temperature can each be refused once.
_MAX_DIALECTS = 5
# Dollars. No question costs as much: an endpoint that reports more is wrong.
_MAX_COST = Decimal(1000)


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgeModel:
    """A model that can be asked.

    Attributes:
        url: The API's base, "https://api.cerebras.ai/v1".
        model: The model's name there.
        key: Its key, never shown.
        provider: Who bills for it; with `model` it determines the price.
        timeout_s: Seconds for a whole question, including retries.
    """

    url: str
    model: str
    key: str = field(default="", repr=False)
    provider: str | None = None
    timeout_s: float = TIMEOUT_S

    def __post_init__(self) -> None:
        ChatEndpoint(self.url, self.key).check()


@dataclass(frozen=True, slots=True)
class _Dialect:
    """The parts of the protocol that an endpoint accepts, learned from its refusals."""

    form: str | None = "json_schema"
    limit: str = "max_tokens"
    has_temperature: bool = True

    def without(self, detail: str) -> _Dialect | None:
        """Drop what the refusal names, or else simplify the answer's form first."""
        refusal = detail.lower()
        if "max_completion_tokens" in refusal and self.limit == "max_tokens":
            return replace(self, limit="max_completion_tokens")
        if "temperature" in refusal and self.has_temperature:
            return replace(self, has_temperature=False)
        if self.form == "json_schema":
            return replace(self, form="json_object")
        if self.form == "json_object":
            return replace(self, form=None)
        return replace(self, has_temperature=False) if self.has_temperature else None

    def body(self, max_tokens: int) -> dict[str, Any]:
        fields: dict[str, Any] = {self.limit: max_tokens}
        if self.has_temperature:
            fields["temperature"] = 0
        if self.form == "json_schema":
            schema = {"name": "verdict", "strict": True, "schema": VERDICT_SCHEMA}
            fields["response_format"] = {"type": "json_schema", "json_schema": schema}
        elif self.form:
            fields["response_format"] = {"type": self.form}
        return fields


class LLMJudge:
    """Asks a model, and a stronger one if the first is not sure.

    Args:
        first: The model to ask.
        second: Asked if the first one's confidence is below `second_below`; its
            verdict then counts.
        second_below: In [0, 1].
    """

    def __init__(
        self, first: JudgeModel, second: JudgeModel | None = None, *, second_below: float = 0.7
    ) -> None:
        self._first = first
        self._second = second
        self._second_below = second_below
        self._dialects: dict[JudgeModel, _Dialect] = {}

    @property
    def name(self) -> str:
        """The model that is asked first."""
        return self._first.model

    @property
    def timeout_s(self) -> float:
        """The most seconds that `ask` takes."""
        return self._first.timeout_s + (self._second.timeout_s if self._second else 0.0)

    def ask(self, case: Case) -> Ruling:
        """Ask about a case; takes at most `timeout_s`."""
        ruling = self._ask(self._first, case)
        sure = ruling.verdict is not None and ruling.verdict.confidence >= self._second_below
        if self._second is None or sure:
            return ruling
        # The second verdict counts; if there is none, the first one is better than nothing.
        again = self._ask(self._second, case)
        return replace(
            ruling,
            verdict=again.verdict or ruling.verdict,
            failure=None if again.verdict or ruling.verdict else again.failure,
            calls=ruling.calls + again.calls,
        )

    def _ask(self, model: JudgeModel, case: Case) -> Ruling:
        # One deadline for all tries: the server planned this much time for a case.
        deadline = time.monotonic() + model.timeout_s
        calls: list[JudgeCall] = []
        failure = ""
        for max_tokens in (MAX_TOKENS, MAX_TOKENS * RETRY_FACTOR):
            try:
                answer = self._post(model, case, max_tokens, deadline)
                counts = answer.get("usage") if isinstance(answer, Mapping) else None
                name = answer.get("model") if isinstance(answer, Mapping) else None
                named = name if isinstance(name, str) and name else model.model
                # Counted before the answer is read, because a useless answer costs as much.
                try:
                    usage = usage_of(counts)
                except (TypeError, ValueError, AttributeError, OverflowError):
                    usage = Usage()
                # OpenRouter reports the cost. It is not trusted blindly: a billion would end the
                # run by its budget.
                cost = read_dollars(counts.get("cost")) if isinstance(counts, Mapping) else None
                if cost is not None and cost > _MAX_COST:
                    cost = None
                if cost is None and usage.total:
                    # A proxy may answer with its own model name; then ours is priced.
                    costs = (
                        price(usage, model=one, provider=model.provider)
                        for one in (named, model.model)
                    )
                    cost = next((one for one in costs if one is not None), None)
                calls.append(JudgeCall(model=named[:100], usage=usage, cost_usd=cost))
                text, is_cut = _completion_text(answer)
                verdict = read_verdict(text, judge=model.model, is_cut=is_cut)
                return Ruling(asked=self.name, verdict=verdict, calls=tuple(calls))
            except UnusableAnswer as fault:
                failure = str(fault)
            except ModelFailed as fault:
                # A longer answer does not help if there was none.
                failure = str(fault)
                break
        return Ruling(asked=self.name, verdict=None, failure=failure, calls=tuple(calls))

    def _post(self, model: JudgeModel, case: Case, max_tokens: int, deadline: float) -> Any:
        """Send the question, without the protocol fields that the endpoint refused."""
        # A new nonce for each question: whoever had read one fence could close the next.
        messages = write_prompt(case, nonce=secrets.token_hex(16))
        endpoint = ChatEndpoint(model.url, model.key)
        dialect = self._dialects.get(model, _Dialect())
        for _ in range(_MAX_DIALECTS):
            body = {"model": model.model, "messages": messages, **dialect.body(max_tokens)}
            try:
                answer = endpoint.post(
                    body,
                    timeout_s=max(0.001, deadline - time.monotonic()),
                    max_bytes=MAX_ANSWER_BYTES,
                )
            except ModelFailed as refusal:
                plainer = (
                    dialect.without(refusal.detail)
                    if refusal.status in _UNKNOWN_FIELD_STATUSES
                    else None
                )
                if plainer is None:
                    raise
                dialect = plainer
            else:
                self._dialects[model] = dialect
                return answer
        raise ModelFailed("the endpoint refuses the question")


def _completion_text(answer: Any) -> tuple[str, bool]:
    """Return what the model said, and whether it ran out of tokens.

    Raises:
        UnusableAnswer: There is no completion, or it is empty: thinking used all tokens.
    """
    try:
        choice = answer["choices"][0]
        content = choice["message"].get("content")
    except (LookupError, TypeError, AttributeError):
        raise UnusableAnswer("no completion in the answer") from None
    # Some endpoints answer in parts, as in the questions they accept.
    if isinstance(content, list):
        parts = [part.get("text") for part in content if isinstance(part, dict)]
        content = "".join(part for part in parts if isinstance(part, str))
    if not isinstance(content, str) or not content.strip():
        raise UnusableAnswer("the model said nothing")
    return content, choice.get("finish_reason") == "length"

"""Agents of several kinds under one server at once, and a person who taps at random.

Each agent circles on a call that fails until it is held; the person answers with
texts that name the tap. What an agent was told, and by which tap, shows whether a
directive went to another agent, came twice, or never came.
"""

from __future__ import annotations

import http.client
import itertools
import random
import re
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any
from uuid import uuid4

import guard
from guard.sdk.flow import Request, Response
from guard.sdk.transport import HttpTransport
from tests.agents.gemini import GeminiCli
from tests.agents.messages_api import Reply
from tests.contract.conversation import Caller
from tests.installations import wait_for

Json = dict[str, Any]

TOKEN = re.compile(r"tap-[0-9a-f]{32}")
NO_ANSWER = (OSError, http.client.HTTPException)
SETTLES_S = 300.0
"""How long the slowest machine may take to come to rest, or to one answer."""


class Ended(Exception):
    """The agent was told to stop."""


@dataclass
class Life:
    """One run of one agent: what it was told, and whether it was ended."""

    kind: str
    key: str
    tokens: list[str] = field(default_factory=list)
    ended: bool = False

    def hear(self, texts: Iterable[str]) -> bool:
        """Note the taps that these texts name; True: there were some."""
        found = [token for text in texts for token in TOKEN.findall(text)]
        self.tokens += found
        return bool(found)


class Looper(threading.Thread):
    """An agent that circles: corrected it tries another file, ended it starts anew."""

    kind = ""

    def __init__(self, fleet: Fleet, number: int) -> None:
        super().__init__(name=f"{self.kind}-{number}", daemon=True)
        self.fleet, self.number = fleet, number
        self.faults: list[str] = []

    def run(self) -> None:
        try:
            while not self.fleet.over.is_set():
                self._live()
        except Exception as fault:
            self.faults.append(f"{self.name}: {fault!r}")
            raise

    def _live(self) -> None:
        life = self.begin()
        self.fleet.lives.append(life)
        try:
            for place in itertools.count():
                if not self._circle(life, f"part{self.number}/module_{place}.py"):
                    break
            self.finish()
        except Ended:
            life.ended = True
        finally:
            self.leave()

    def _circle(self, life: Life, path: str) -> bool:
        """Read one missing file until told otherwise; False: the day is over."""
        while not self.fleet.over.is_set():
            instead = self.ask(path)
            texts = [instead] if instead is not None else self.tell(path)
            if life.hear(texts):
                return True
        return False

    def begin(self) -> Life:
        """Start a run."""
        raise NotImplementedError

    def ask(self, path: str) -> str | None:
        """Propose the call; None: it may run, a text: that instead."""
        raise NotImplementedError

    def tell(self, path: str) -> list[str]:
        """Say that it failed; return what the model is told with it."""
        raise NotImplementedError

    def finish(self) -> None:
        """Say that the run is over."""

    def leave(self) -> None:
        """Let go of what the run had open."""


class Patient(HttpTransport):
    """Waits for a machine under load, where a session would go on by itself."""

    def send(self, request: Request) -> Response:
        return super().send(replace(request, timeout_s=max(request.timeout_s, SETTLES_S)))


class PythonAgent(Looper):
    """A `guard.Session`."""

    kind = "session"

    def begin(self) -> Life:
        url, key = self.fleet.url, self.fleet.agent_key
        life = Life(self.kind, f"session:{uuid4()}")
        self.session = guard.Session(
            "fleet", url=url, key=key, run_key=life.key, outbox=False, transport=Patient(url, key)
        )
        return life

    def ask(self, path: str) -> str | None:
        try:
            self.go = self.session.before("Read", {"file_path": path})
        except guard.Stopped as stopped:
            raise Ended from stopped
        self.notes = list(self.go.messages)
        return None if self.go.run else "\n".join([self.go.text, *self.notes])

    def tell(self, path: str) -> list[str]:
        try:
            after = self.session.after(self.go, error=f"no such file: {path}")
        except guard.Stopped as stopped:
            raise Ended from stopped
        return [*self.notes, *after]

    def leave(self) -> None:
        self.session.close()


class HookedAgent(Looper):
    """Speaks an agent's own hook protocol over HTTP, as its hooks would."""

    client = ""

    def begin(self) -> Life:
        self.session = str(uuid4())
        self.calls = itertools.count()
        return Life(self.kind, f"{self.client}:{self.session}")

    def hook(self, event: str, **fields: Any) -> Json:
        """Post a hook body; a cut connection is tried again, with the same body."""
        base = {"session_id": self.session, "cwd": "/fleet", "hook_event_name": event}
        while True:
            try:
                response = self.fleet.agent.ask(
                    "POST", f"/api/v1/hooks/{self.client}/", base | fields
                )
            except NO_ANSWER:
                time.sleep(0.1)
                continue
            assert response.status == 200, (response.status, response.json)
            answer = dict(response.json)
            if answer.get("continue") is False:
                raise Ended
            return answer

    def finish(self) -> None:
        self.hook("SessionEnd", reason="exit")


class ClaudeHooks(HookedAgent):
    """What Claude Code's HTTP hooks send and take."""

    kind, client = "claude-code hooks", "claude-code"

    def ask(self, path: str) -> str | None:
        self.call = {
            "tool_name": "Read",
            "tool_input": {"file_path": path},
            "tool_use_id": f"toolu_{next(self.calls)}",
        }
        self.output = self.hook("PreToolUse", **self.call).get("hookSpecificOutput", {})
        denied = self.output.get("permissionDecision") == "deny"
        return str(self.output["permissionDecisionReason"]) if denied else None

    def tell(self, path: str) -> list[str]:
        answer = self.hook("PostToolUseFailure", **self.call, error=f"no such file: {path}")
        outputs = (self.output, answer.get("hookSpecificOutput", {}))
        return [output.get("additionalContext", "") for output in outputs]


class GeminiHooks(HookedAgent):
    """What Gemini CLI's hooks send and take; its calls have no id."""

    kind, client = "gemini hooks", "gemini"

    def ask(self, path: str) -> str | None:
        self.call = {"tool_name": "read_file", "tool_input": {"file_path": path}}
        answer = self.hook("BeforeTool", **self.call, timestamp=self._stamp())
        return str(answer["reason"]) if answer.get("decision") == "deny" else None

    def tell(self, path: str) -> list[str]:
        response = {"llmContent": "", "error": {"message": f"no such file: {path}"}}
        stamp = self._stamp()
        answer = self.hook("AfterTool", **self.call, tool_response=response, timestamp=stamp)
        return [answer.get("reason", "")]

    def _stamp(self) -> str:
        return f"T{next(self.calls):09}"


@dataclass
class RealAgent:
    """An unmodified client, and the scripted model that records what reached it."""

    kind: str
    key: Callable[[], str | None]
    api: Any
    process: Any

    @classmethod
    def of(cls, client: GeminiCli, api: Any) -> RealAgent:
        """Start a connected client; its run has the key its first words tell."""

        def key() -> str | None:
            session = client.session()
            return f"gemini:{session}" if session else None

        return cls("gemini", key, api, client.start("Read it."))

    def received(self) -> list[str]:
        """The taps its model was told of, counted in the longest conversation."""
        conversations = [TOKEN.findall(c.text) for c in list(self.api.conversations)]
        return max(conversations, key=len, default=[])


def circling_model(tool: str, fleet: Fleet) -> Callable[[Any], Reply]:
    """Script a model: read a missing file again and again, another one when corrected."""

    def script(conversation: Any) -> Reply:
        if fleet.calm.is_set():
            return Reply(text="Done.")
        places = len(TOKEN.findall(conversation.text))
        return Reply(calls=((tool, {"file_path": f"real/module_{places}.py"}),))

    return script


@dataclass(frozen=True)
class Tap:
    """One tap the server took."""

    key: str
    action: str
    token: str


class Fleet:
    """The agents, and the person who answers for all of them."""

    def __init__(self, url: str, agent_key: str, person: Caller, *, seed: int) -> None:
        self.url, self.agent_key, self.person = url, agent_key, person
        self.agent = Caller(url, {"Authorization": f"Bearer {agent_key}"})
        self.calm, self.over = threading.Event(), threading.Event()
        self.lives: list[Life] = []
        self.loopers: list[Looper] = []
        self.real: list[RealAgent] = []
        self.taps: list[Tap] = []
        self.repeats = 0
        self._choose = random.Random(seed)  # noqa: S311 - for variety, not for secrets

    def start(self, *kinds: tuple[type[Looper], int]) -> None:
        """Start so many agents of each of these kinds."""
        for kind, count in kinds:
            self.loopers += [kind(self, len(self.loopers) + n) for n in range(count)]
        for looper in self.loopers:
            looper.start()

    def add(self, agent: RealAgent) -> None:
        """Take in an agent that runs by itself."""
        self.real.append(agent)

    def play(self, *, seconds: float = 0.0, taps: int = 0) -> None:
        """Tap at random, for so long and so often; then let everything come to rest."""
        ends_at = time.monotonic() + seconds
        self._look_until(lambda: time.monotonic() >= ends_at and len(self.taps) >= taps)
        self.calm.set()
        self._look_until(lambda: not self.missing())
        self.over.set()
        self._look_until(lambda: not self._running())

    def _look_until(self, claim: Callable[[], bool]) -> None:
        def holds() -> bool:
            self.look()
            return claim()

        try:
            wait_for(holds, seconds=SETTLES_S)
        except AssertionError as late:
            raise AssertionError([self.figures(), self.missing(), self.crossed()]) from late

    def _running(self) -> bool:
        threads = any(looper.is_alive() for looper in self.loopers)
        return threads or any(agent.process.poll() is None for agent in self.real)

    # --- the person ---------------------------------------------------------------

    def look(self) -> None:
        """Look at the screen once, and answer what waits there."""
        rows = self.person.get("/api/v1/runs/?limit=500")["results"]
        ours = {row["id"]: row for row in rows if row["key"] in self._keys()}
        cards = self.person.get("/api/v1/decisions/?status=open&limit=500")["results"]
        for card in cards:
            row = ours.get(card["run"])
            if row and card["holds"] and (card["agent_waiting"] or not self._is_real(row)):
                fields = {"decision": card["id"], "version": card["version"]}
                self._answer(row, fields)
        for row in ours.values():
            if row["status"] in {"holding", "held"} and not row["open_decisions"]:
                self._answer(row, {"version": row["version"]})
            elif row["status"] == "running" and self._may_pause(row) and self._chance(0.05):
                self._tap(row, "pause", {})

    def _is_real(self, row: Json) -> bool:
        """A real client ends when its model is done, whatever was tapped meanwhile."""
        return row["key"] in {agent.key() for agent in self.real}

    def _may_pause(self, row: Json) -> bool:
        return not self.calm.is_set() and not self._is_real(row)

    def _keys(self) -> set[str | None]:
        return {*(life.key for life in list(self.lives)), *(agent.key() for agent in self.real)}

    def _answer(self, row: Json, fields: Json) -> None:
        action = self._action(row)
        token = f"tap-{uuid4().hex}" if action == "inject" else ""
        more = {"message": f"Try another file. ({token})"} if token else {}
        self._tap(row, action, fields | more, token=token)

    def _action(self, row: Json) -> str:
        """Choose: a real client is always corrected, for it stops itself when let go."""
        if self._is_real(row):
            return "inject"
        if self.calm.is_set():
            return "continue"
        action = self._choose.choice(["inject", "inject", "inject", "continue", "terminate"])
        return "inject" if action == "terminate" and self._waits_for_text(row) else action

    def _waits_for_text(self, row: Json) -> bool:
        """Ending a run takes away what it was not told yet."""
        return any(tap.key == row["key"] for tap in self.missing())

    def _tap(self, row: Json, action: str, body: Json, token: str = "") -> None:
        body = {"key": uuid4().hex, "action": action} | body
        for _ in range(2 if self._chance(0.3) else 1):
            response = self.person.ask("POST", f"/api/v1/runs/{row['id']}/interventions/", body)
            if response.status == 201:
                self.taps.append(Tap(row["key"], action, token))
            self.repeats += response.status == 200
            assert response.status in {200, 201, 409}, (response.status, response.json)

    def _chance(self, share: float) -> bool:
        return self._choose.random() < share

    # --- what became of it --------------------------------------------------------

    def received(self) -> Iterator[tuple[str, str]]:
        """Every (run key, tap) that reached an agent, as often as it did."""
        for life in list(self.lives):
            yield from ((life.key, token) for token in list(life.tokens))
        for agent in self.real:
            yield from ((str(agent.key()), token) for token in agent.received())

    def missing(self) -> list[Tap]:
        """Texts that were taken and have not reached their agent."""
        arrived = set(self.received())
        return [tap for tap in self.taps if tap.token and (tap.key, tap.token) not in arrived]

    def crossed(self) -> list[tuple[str, str]]:
        """Texts that reached an agent they were not meant for."""
        meant = {(tap.key, tap.token) for tap in self.taps}
        return [message for message in self.received() if message not in meant]

    def repeated(self) -> list[tuple[str, str]]:
        """Texts that reached their agent more than once."""
        return [message for message, times in Counter(self.received()).items() if times > 1]

    def ended_amiss(self) -> list[str]:
        """Runs that were ended and went on, or stopped and nobody had ended them."""
        asked = {tap.key for tap in self.taps if tap.action == "terminate"}
        stopped = {life.key for life in self.lives if life.ended}
        return sorted(asked ^ stopped)

    def figures(self) -> Json:
        """Say in numbers what happened."""
        kinds = [*(looper.kind for looper in self.loopers), *(agent.kind for agent in self.real)]
        return {
            "agents": dict(Counter(kinds)),
            "runs": len(self.lives) + len(self.real),
            "taps": dict(Counter(tap.action for tap in self.taps)),
            "repeated_taps": self.repeats,
            "texts_delivered": len(list(self.received())),
            "lost": len(self.missing()),
            "crossed": len(self.crossed()),
            "delivered_twice": len(self.repeated()),
            "ended_amiss": len(self.ended_amiss()),
            "faults": [fault for looper in self.loopers for fault in looper.faults],
        }

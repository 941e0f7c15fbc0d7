"""What a session does while the server is away: watch, keep, ask, deliver later.

Nothing here uses the network in the caller's thread: a background thread does, and reports when the
server is back and everything is delivered.
"""

from __future__ import annotations

import logging
import threading
from collections import deque
from collections.abc import Iterable, Mapping
from dataclasses import fields, replace
from datetime import UTC, datetime
from decimal import Decimal
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from guard.budget import ANY_AGENT, Budget, Spent, UsageMeter
from guard.errors import NotTheServer, ServerAway, ServerRefused
from guard.events import Away, Back, Delivered, Emitter, Opened, Tripped
from guard.pricing import read_dollars
from guard.sdk.background import BackgroundTask, heartbeat
from guard.sdk.delivery import Delivery, Send, call_api, deliver_ownerless_files
from guard.sdk.forking import import_lock, register_after_fork
from guard.sdk.outbox import Outbox
from guard.sdk.outbox_file import MAX_CHARS, Record
from guard.sdk.turn_json import cut_middle, turn_to_json
from guard.turn import Role, Turn, Usage

if TYPE_CHECKING:
    from guard.engine import Correction

logger = logging.getLogger("guard")

# Counted apart: which agents have ceilings is known only from the rules.
EVERY_AGENT = Budget(agents={ANY_AGENT: Budget()})
# Observations kept for the start of the engine: its window, proposals and outcomes.
MAX_RECENT_TURNS = 256
# How long closing may take if something waits to be delivered.
CLOSE_S = 1.0
# How long a call that may not run without the server waits for the server to return.
RETRY_WAIT_S = 6.0


class RecentTurns:
    """The newest turns since the streaks last began afresh, and what the whole run has used.

    Threads may share it.
    """

    def __init__(self) -> None:
        self._turns: deque[Turn] = deque(maxlen=MAX_RECENT_TURNS)
        # Counted from the start: a ceiling must not begin anew with an outage. Priced only then,
        # because prices take an import.
        self._used = UsageMeter(EVERY_AGENT, prices_later=True)
        self._used_before = Spent()
        self.reset_after_fork()
        register_after_fork(self)

    def reset_after_fork(self) -> None:
        """Create a new lock for this process."""
        self._lock = threading.Lock()

    def add(self, turn: Turn) -> None:
        """Count a turn and remember it; keep only the ends of a long text."""
        if any(text and len(text) > MAX_CHARS for text in (turn.content, turn.result, turn.error)):
            turn = replace(
                turn,
                content=cut_middle(turn.content, MAX_CHARS),
                result=cut_middle(turn.result, MAX_CHARS),
                error=cut_middle(turn.error, MAX_CHARS),
            )
        has_outcome = turn.tool is not None and not turn.is_proposed
        with self._lock:
            self._turns.append(turn)
            if turn.role is Role.USER:
                self._used.reset_failures()
            self._used.take(turn, failed=turn.error is not None if has_outcome else None)

    def before(self, turn: Turn) -> list[Turn]:
        """Return the turns before this observation of a turn."""
        # The turn itself was already noted, and the engine has yet to look at it.
        kept = list(self._turns)
        same = (n for n, old in enumerate(kept) if (old.key, old.phase) == (turn.key, turn.phase))
        return kept[: next(same, len(kept))]

    def clear(self) -> None:
        """Begin afresh: somebody intervened."""
        with self._lock:
            self._turns.clear()
            self._used.reset_failures()

    def note_used_before(self, run: Mapping[str, Any]) -> None:
        """Note what a run had used when this session joined it, by the server's row of it."""
        usage = run.get("usage")
        dollars = (read_dollars(run.get(name)) for name in ("cost_usd", "judge_cost_usd"))
        self._used_before = Spent(
            usd=sum((amount for amount in dollars if amount is not None), Decimal(0)),
            tokens=_total_of(usage) if isinstance(usage, Mapping) else 0,
            calls=_count(run.get("calls")),
            turns=_count(run.get("turns")),
        )

    def price_calls(self) -> None:
        """Price what was used; slow the first time."""
        with self._lock:
            self._used.price_calls()

    @property
    def spent(self) -> Spent:
        """What the run has used, as far as this session knows."""
        with self._lock:
            used = self._used.spent
        before = self._used_before
        return replace(
            used,
            usd=before.usd + used.usd,
            tokens=before.tokens + used.tokens,
            calls=before.calls + used.calls,
            turns=before.turns + used.turns,
        )


def _total_of(usage: Mapping[str, Any]) -> int:
    """Every token of a row's usage, counted once."""
    return Usage(**{one.name: _count(usage.get(one.name)) for one in fields(Usage)}).total


def _count(value: object) -> int:
    # Whatever answers instead of the server must not break the host.
    return value if isinstance(value, int) else 0


class Offline:
    """What one session needs to continue without the server.

    Args:
        opening: What opens the run.
        folder: The project's folder for outbox and rules; None: nothing is kept.
        send: Carries a request in the background thread.
        heartbeat_send: Sends the heartbeats, in a thread of their own; None: there are none.
        emit: The host's callback.
    """

    def __init__(
        self,
        *,
        opening: Mapping[str, Any],
        folder: Path | None,
        send: Send,
        emit: Emitter,
        heartbeat_send: Send | None = None,
    ) -> None:
        self.away = False
        self.run_id: str | None = None
        self.recent_turns = RecentTurns()
        self.outbox = Outbox(folder, opening) if folder else None
        self._opening = opening
        self._folder = folder
        self._send = send
        self._heartbeat_send = heartbeat_send
        self._emit = emit
        self.reset_after_fork()
        self._local_guard: Any = None
        self._rules: Mapping[str, Any] | None = None
        self._versions: tuple[int | None, int | None] | None = None
        self._background = BackgroundTask(
            self._deliver_and_refresh, on_stopped=self.outbox.close if self.outbox else lambda: None
        )
        register_after_fork(self)

    def reset_after_fork(self) -> None:
        """Create a new lock for this process."""
        self._lock = threading.RLock()

    def go_offline(self, away: ServerAway, *, effect: str) -> None:
        """Note that the server is away: log it once an outage, look for it in the background."""
        with self._lock:
            is_news, self.away = not self.away, True
        if is_news:
            logger.warning("Mission Control is not there (%s): %s", away, effect)
            self._emit(Away(reason=str(away)))
        self._background.schedule(later=is_news, retry_after_s=away.retry_after_s)

    def register_run(self, run_id: str, row: Mapping[str, Any] | None = None) -> None:
        """Note that the server has the run; `row`: as it was when this session joined it."""
        with self._lock:
            if self.run_id == run_id:
                return
            self.run_id = run_id
        if row is not None:
            self.recent_turns.note_used_before(row)
        self._emit(Opened(run=run_id))
        self._background.schedule()
        if self._heartbeat_send is not None:
            heartbeat.start(self)

    def send_heartbeat(self) -> bool:
        """Send a heartbeat; False: the server accepts none from us."""
        if (heartbeat_send := self._heartbeat_send) is None:
            return False
        try:
            call_api(heartbeat_send, "POST", f"runs/{self.run_id}/presence/", {})
        except ServerAway as away:
            logger.debug("a sign of life was not heard: %s", away)
        except ServerRefused as refused:
            # A revoked key, or a server without heartbeats: asking again changes neither.
            logger.debug("no signs of life are wanted: %s", refused)
            return False
        return True

    def retry_now(self, timeout_s: float = RETRY_WAIT_S) -> None:
        """Look now whether the server is back; block for at most this many seconds."""
        if self.away:
            self._background.run_now(timeout_s)

    def note_versions(self, policy_version: int | None, version: int | None) -> None:
        """Fetch the rules again if they may have changed."""
        versions = (policy_version, version)
        with self._lock:
            # The first versions are no change: the rules were fetched when the run was opened.
            have_changed, self._versions = self._versions not in {None, versions}, versions
        if have_changed:
            self._background.schedule()

    def close(self) -> None:
        """Deliver what can be delivered at once, and stop."""
        # For good: a later delivery may open the run, which must not look alive then.
        self._heartbeat_send = None
        heartbeat.stop(self)
        if self.outbox is not None:
            self.outbox.report_dropped()
        self._background.stop(CLOSE_S, last_try=self.has_pending)

    @property
    def has_pending(self) -> bool:
        """Whether something waits to be delivered."""
        return self.outbox is not None and self.outbox.has_pending

    def queue_turn(self, turn: Turn) -> bool:
        """Keep a turn for later; False: the server is back, report the turn yourself."""
        row = turn_to_json(turn)
        # It may be reported hours later: without a time it would seem to have run then.
        row.setdefault("ts", datetime.now(UTC).isoformat())  # noqa: TID251
        return self.queue_record({"turn": row})

    def queue_record(self, record: Record) -> bool:
        """Keep a record for later; False: the server is back."""
        with self._lock:
            if not self.away:
                return False
            if self.outbox is not None:
                self.outbox.append(record)
            return True

    @property
    def is_engine_running(self) -> bool:
        """Whether the engine runs in this process."""
        return self._local_guard is not None

    def start_engine(self, turn: Turn) -> None:
        """Start the engine with the turns before this one; slow the first time."""
        # Imported only here: with a server, a session never needs the engine, which is slow to
        # import, and imports more when it is created.
        with import_lock, self._lock:
            from guard.sdk.local import LocalGuard
            from guard.sdk.rules import Rules, load_rules

            if self._local_guard is None:
                rules = (
                    Rules.of_run(self._rules)
                    if self._rules is not None
                    else Rules.of_project(load_rules(self._folder), self._opening)
                )
                create = partial(
                    LocalGuard,
                    rules,
                    workspace=self._opening.get("workspace") or (),
                    goal=self._opening.get("goal"),
                )
                budget = rules.policy.budget
                if budget is not None and budget.needs_prices:
                    self.recent_turns.price_calls()
                try:
                    self._local_guard = create(recent=self.recent_turns.before(turn))
                except Exception:
                    logger.exception("the engine failed on an earlier turn; it starts afresh")
                    self._local_guard = create()

    def check_turn(self, turn: Turn) -> Any:
        """Return what the engine finds about a turn, or None. Its errors are logged, not raised."""
        with self._lock:
            guard = self._local_guard
            try:
                spent = self.recent_turns.spent
                finding = guard.check_turn(turn, spent=spent) if guard is not None else None
            except Exception:
                logger.exception("the engine failed on a turn; the agent goes on")
                return None
        if finding is not None:
            self._emit(Tripped(signal=finding.signal))
        return finding

    def take_nudges(self) -> tuple[str, ...]:
        """Return the engine's nudges for the model; each is returned once."""
        with self._lock:
            nudges: tuple[str, ...] = self._local_guard.take_nudges() if self._local_guard else ()
        return nudges

    def reset_streaks(
        self, *, allowed: Iterable[str] = (), corrected: Iterable[Correction] = ()
    ) -> None:
        """Begin the streaks afresh: somebody answered."""
        with self._lock:
            self.recent_turns.clear()
            if self._local_guard is not None:
                self._local_guard.reset_streaks(corrected=corrected)
                self._local_guard.allow(allowed)

    @property
    def rules(self) -> Any:
        """The rules in force while the server is away."""
        return self._local_guard.rules

    def _deliver_and_refresh(self) -> None:
        """Deliver, mark the server as back, fetch the rules, deliver what ended processes left."""
        if self.away:
            run_id, delivered, is_back = self._find_or_open_run(), 0, False
            while not is_back:
                if self.outbox is not None:
                    delivered += Delivery(self._send, self.outbox, run_id=run_id).run()
                # Under the lock of `queue_record`: a turn kept meanwhile is delivered first, or a
                # later turn would overtake it.
                with self._lock:
                    is_back = self.outbox is None or not self.outbox.has_pending
                    if is_back:
                        self.away, self._local_guard = False, None
            self.register_run(run_id)
            logger.info("Mission Control is back; %s turns were delivered", delivered)
            self._emit(Back())
            if self.outbox is not None and (delivered or self.outbox.dropped):
                self._emit(Delivered(turns=delivered, dropped=self.outbox.dropped))
        elif self.run_id is not None:
            self._try_fetch_rules(self.run_id)
        # Left by processes that were killed, or ended while the server was away.
        for count in deliver_ownerless_files(self._send, self._folder) if self._folder else ():
            if count:
                logger.info("%s turns of an earlier process were delivered", count)

    def _find_or_open_run(self) -> str:
        """Fetch the rules of the run that is known, or open one; return its id.

        After a restart of the server a whole fleet comes back at once, and only few runs may be
        opened at a time.
        """
        if self.run_id is not None:
            try:
                self._fetch_rules(self.run_id)
            except (ServerRefused, NotTheServer) as gone:
                # Or a firewall rejects the rules, without which the session can go on.
                logger.debug("the run is not there any more: %s", gone)
            else:
                return self.run_id
        # By its key this finds the run if the server has it already.
        opened = call_api(self._send, "POST", "runs/", self._opening)
        run_id = quote(str(opened.get("id")), safe="")
        self._try_fetch_rules(run_id)
        return run_id

    def _try_fetch_rules(self, run_id: str) -> None:
        try:
            self._fetch_rules(run_id)
        except (ServerAway, ServerRefused) as error:
            logger.debug("the rules could not be fetched: %s", error)

    def _fetch_rules(self, run_id: str) -> None:
        with import_lock:
            from guard.sdk.rules import save_rules

        rules = call_api(self._send, "GET", f"runs/{run_id}/rules/", None)
        self._rules = rules
        if self._folder is not None:
            save_rules(self._folder, rules)

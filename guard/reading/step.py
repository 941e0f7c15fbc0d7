"""A turn, read once: everything that detectors need of it.

What it asks for or says depends on its wording alone, and is read once per wording
(`Action`): a call that is repeated, or proposed and then done, is not read again. A `Step`
adds what came back, and compares both with the turns before.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

from guard.caching import RecentCache
from guard.nature import Retry, ToolNature, pick_args, progress_values
from guard.raw_texts import NO_TEXTS, head_and_tail, raw_texts_of
from guard.reading import classify, normalize
from guard.reading.messages import ANNOUNCES, SHOWN_WORK, find_chant, stems_of, strip_stamps
from guard.reading.outcome import NOTHING_FOUND, SERVICE_BUSY, TIMED_OUT, Outcome
from guard.reading.terms import NEWS, words_in
from guard.reading.volatile import mask_temp_paths
from guard.turn import PROPOSED, TOOL, ActionClass, Turn

# `timestamp` rejects the year 1, and reads a time without a zone as local time.
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)

# Any rewording has about this many new terms.
FEW_TERMS = 3
_MAX_BATCH = 12  # the most calls of one answer
TOOL_AGENT = "tool"  # the speaker of a tool's turn that names no agent
_UNKNOWN_OUTCOME = Outcome(key=None)
_MESSAGE, _FILE_EDIT = ActionClass.MESSAGE.value, ActionClass.FILE_EDIT.value
_NO_ARGUMENTS = normalize.Arguments({})


class Action:
    """What a turn asks for or says; it never changes, so steps share it."""

    __slots__ = (
        *("action_class", "announces", "arguments", "call", "chant", "hands_over", "is_call"),
        *("is_edit", "is_move", "is_question", "is_waiting", "request", "runs_code", "shows_work"),
        *("terms", "text", "thinks", "verb", "words"),
    )

    def __init__(self, turn: Turn, text: str, args: Mapping[str, Any]) -> None:
        """Read a turn with this text, or a call with these arguments (`strip_remarks`)."""
        self.is_call = turn.tool is not None  # a tool call; otherwise a message
        if turn.tool is not None:
            self._read_call(turn, turn.tool, text, args)
        else:
            self._read_message(turn, text)
        self.is_edit = self.is_call and self.action_class == _FILE_EDIT
        # The terms of a message (`stems_of`), or of a call that hands over or thinks.
        tells = not self.is_call or self.thinks or self.hands_over
        self.terms = stems_of(self.text) if tells else frozenset()

    def _read_call(self, turn: Turn, tool: str, text: str, args: Mapping[str, Any]) -> None:
        command, kept = normalize.command_in(args), normalize.stable_args(args)
        traits = classify.traits_of(tool)
        self.call = text  # canonical text for people and allowlists
        # The compared text: equal requests ask for the same.
        self.request = mask_temp_paths(text if kept == args else normalize.format_call(tool, kept))
        self.text = self.request  # the text whose similarity is computed
        self.words = words_in(self.text)
        self.verb = classify.verb_of(tool, command)  # the tool and the program that it runs
        self.arguments = normalize.Arguments(kept)  # the arguments, ready to be compared
        self.action_class = turn.action_class or classify.classify(tool, command, args).value
        self.runs_code = bool(command)  # it runs a command or code from its arguments
        self.is_question = classify.is_question(self.action_class, tool, command)  # or it acts
        self.is_waiting = classify.is_waiting(tool, command, args=args)  # as its call says
        self.is_move = classify.is_move(tool, args)  # by one step: repeating it is normal use
        self.thinks = "thinks" in traits  # it only thinks aloud
        self.hands_over = "hands_over" in traits  # it passes the task to another agent
        self.shows_work = self.announces = False
        self.chant: str | None = None

    def _read_message(self, turn: Turn, text: str) -> None:
        self.call, meant = normalize.call_text(turn), strip_stamps(text)
        is_whole = meant is text
        self.request = self.call if is_whole else normalize.call_text(replace(turn, content=meant))
        self.text = head_and_tail(meant)
        self.words = words_in(self.text)
        self.verb, self.arguments = "", _NO_ARGUMENTS
        self.action_class = turn.action_class or _MESSAGE
        self.is_question = classify.is_question(self.action_class, None, "")
        self.runs_code = self.is_waiting = self.is_move = self.thinks = self.hands_over = False
        # It shows an action or its outcome, and is not only talk.
        self.shows_work = SHOWN_WORK.occurs_in(text)
        self.announces = ANNOUNCES.occurs_in(self.text)  # what its agent is about to do
        self.chant = find_chant(text)  # what it repeats over and over


_actions = RecentCache[tuple[bool, str, str | None], Action](256)


def read_action(turn: Turn) -> Action:
    """Read what a turn asks for or says."""
    args = normalize.strip_remarks(turn.args) if turn.tool is not None else {}
    text = turn.content or "" if turn.tool is None else normalize.format_call(turn.tool, args)
    key = turn.tool is None, text, turn.action_class
    if (known := _actions.get(key)) is not None:
        return known
    action = Action(turn, text, args)
    # Messages that are long or lost a stamp are not cached.
    return _actions.put(key, action) if action.is_call or action.text is text else action


class Step(Action):
    """What a turn asks for or says, and what came back, compared with the turns before it.

    What is declared about its tool can change `request`, `arguments` and `is_move`.
    """

    __slots__ = (
        *("after_nudge", "agent", "answer_terms", "at", "batch", "batch_place", "call_id"),
        *("explores", "failed", "failure", "had_effect", "improved", "is_answered", "is_in_vain"),
        *("is_new", "key", "made_progress", "may_repeat", "needs_time", "new_terms", "news"),
        *("outcome", "outcome_key", "outcome_known", "proposed", "raw", "refers_back", "refusals"),
        *("says_new", "seq", "template"),
    )

    def __init__(
        self,
        turn: Turn,
        *,
        seq: int,
        outcome: Outcome | None,
        news: float = 0.0,
        before: Sequence[Step] = (),
        action: Action | None = None,
        nature: ToolNature | None = None,
        nudged: bool = False,
        keep_raw: bool = True,
        refusals: int = 0,
    ) -> None:
        """Read a turn as a step, compared with the steps before it.

        `action` is what it asks for, if that was read before. `nature` is what is declared about
        the tool: which arguments distinguish its calls, what in its result is progress, what asking
        again means. Without `keep_raw` the turn's own words are not kept.
        """
        action = action or read_action(turn)
        # Assigned one by one: a loop over the names takes ten times as long.
        self.call, self.request, self.text = action.call, action.request, action.text
        self.words, self.terms, self.verb = action.words, action.terms, action.verb
        self.arguments, self.action_class = action.arguments, action.action_class
        self.is_call, self.is_edit, self.is_move = action.is_call, action.is_edit, action.is_move
        self.is_question, self.is_waiting = action.is_question, action.is_waiting
        self.thinks, self.hands_over, self.chant = action.thinks, action.hands_over, action.chant
        self.runs_code, self.shows_work = action.runs_code, action.shows_work
        self.announces = action.announces
        if nature or (turn.tool is not None and not turn.args):  # otherwise its wording tells all
            self._fix_request(turn, outcome, nature)
        request, ts = self.request, turn.ts
        earlier = [step for step in before if step.request == request and step.is_call]
        is_tool = turn.role is TOOL and turn.tool is None
        self.seq = seq  # the turn's number
        self.key = turn.key  # the client's id of the turn, by which its completion finds it
        # When it happened, in seconds since 1970; None: unknown.
        self.at = (ts.replace(tzinfo=ts.tzinfo or UTC) - _EPOCH).total_seconds() if ts else None
        # Who acted; without names, all tools count as one agent and all models as another.
        self.agent = turn.agent if turn.agent is not None else TOOL_AGENT if is_tool else ""
        # Calls of one answer are few, consecutive and different: otherwise the id may be the run's.
        self.call_id, self.batch_place, self.batch = turn.call_id if self.is_call else None, 0, seq
        own = (one for one in reversed(before) if one.agent == self.agent) if self.call_id else ()
        if own and (last := next(own, None)) and last.call_id == self.call_id:
            again = last.batch in [step.batch for step in earlier]
            self.batch_place = _MAX_BATCH if again else last.batch_place + 1
            self.batch = last.batch if self.batch_place < _MAX_BATCH else seq
        self.proposed = turn.phase is PROPOSED  # the call has not run yet: no outcome
        self.outcome = outcome  # what came back; None: unknown
        self.news = news  # share of its terms never seen before, in [0, 1]; 0 where unknown
        self.improved = False  # fewer failures than the last time
        self._compare_outcome(turn, nature, earlier, before)
        self.needs_time = self._needs_time(nature)  # it waits, or failed for a reason that may pass
        self.after_nudge = nudged  # it answers a repeated message of a machine or a person
        self.is_new = not earlier  # no remembered step made this request
        known = [step.terms for step in before] if self.terms else ()
        self.new_terms = len(self.terms.difference(*known))  # those that no earlier message had
        # The turn's own words, for rules that read the raw text.
        self.raw = raw_texts_of(turn) if keep_raw else NO_TEXTS
        self.refusals = refusals  # how often submitted work was refused in these words
        self._derive_flags(untried=self.is_new or all(step.failed for step in earlier))

    def _fix_request(self, turn: Turn, outcome: Outcome | None, nature: ToolNature | None) -> None:
        """Correct the request where the turn asks for something else than its wording says."""
        request = self.request
        if nature and nature.retry is Retry.NONE:
            self.is_move = False
        if nature and nature.loop_key is not None and turn.tool is not None:
            args = normalize.strip_remarks(pick_args(turn.args, nature.loop_key))
            request = mask_temp_paths(normalize.format_call(turn.tool, normalize.stable_args(args)))
            self.arguments = normalize.Arguments(args)
        # A call without arguments that is merely acknowledged (`step()`, "ok") asks for what the
        # agent says with it, unless the answer says that the call was made before.
        is_bare = turn.tool is not None and not turn.args and bool(turn.content)
        is_plain = outcome and not outcome.failed and not outcome.refers_back
        if is_bare and outcome and is_plain and "\n" not in outcome.text.strip():
            request = f"{request} {normalize.one_line(turn.content or '')}"
        if request is not self.request:
            self.request, self.text, self.words = request, request, words_in(request)
            if self.hands_over or self.thinks:
                self.terms = stems_of(request)

    def _compare_outcome(
        self, turn: Turn, nature: ToolNature | None, earlier: list[Step], before: Sequence[Step]
    ) -> None:
        """Evaluate what came back: its identity, its news, and whether it is better than before."""
        outcome = self.outcome
        if outcome is None:
            return
        last = next((step.outcome for step in reversed(earlier) if step.outcome), None)
        had = last.failures if last else None
        self.improved = had is not None and outcome.failures is not None and outcome.failures < had
        is_known = outcome.failure and outcome.failure in [step.failure for step in before]
        if is_known or outcome.refers_back:
            self.news = 0.0  # a known failure tells nothing, whatever it quotes
        paths = nature.progress_key if nature and not outcome.failed else ()  # not of a failure
        if state := progress_values(turn.result or "", paths) if paths else None:
            moved = last is None or state != last.key
            self.outcome, self.news = outcome._replace(key=state), float(moved)
            self.improved = moved and last is not None

    def _needs_time(self, nature: ToolNature | None) -> bool:
        outcome = self.outcome
        failed = outcome is not None and outcome.failed
        if nature and nature.retry:
            return nature.retry is Retry.POLL or (nature.retry is Retry.RETRY and failed)
        if self.is_waiting or outcome is None:
            return self.is_waiting
        if not failed:
            return classify.says_to_wait(outcome.text)
        # A late service is worth waiting for, a command that hangs is not. And "the service is not
        # running" is a failure, not something to wait for.
        is_late = not self.runs_code and TIMED_OUT.occurs_in(outcome.text)
        return is_late or SERVICE_BUSY.occurs_in(outcome.text)

    def _derive_flags(self, *, untried: bool) -> None:
        """Compute what follows from these once: later turns look at each step hundreds of times."""
        is_known, outcome = self.outcome is not None, self.outcome or _UNKNOWN_OUTCOME
        self.failed = outcome.failed  # it is known to have failed
        self.failure = outcome.failure  # what failed, if known
        self.template = outcome.template  # `failure` without names and numbers
        self.outcome_key = outcome.key  # the answer's identity; None: unknown
        self.answer_terms = outcome.terms  # the terms of what came back
        self.refers_back = outcome.refers_back  # it only says that the call was made before
        self.outcome_known = is_known or not self.is_call  # a message is its own outcome
        # A call that is more than a thought, with a known outcome.
        self.is_answered = is_known and self.is_call and not self.thinks
        is_fresh = self.is_call and not self.proposed and untried and not self.refers_back
        # It changed something: it is fresh, did not fail and does not only ask.
        is_action = not self.is_question if is_known else self.is_edit
        self.had_effect = is_fresh and not self.failed and is_action
        # It brought something: new information, a new action, or fewer failures.
        self.made_progress = self.news >= NEWS or self.had_effect or self.improved
        self.says_new = self.new_terms > FEW_TERMS  # more than any rewording does
        self.explores = self.is_question and not self.failed  # as an agent does at the beginning
        # It failed, or did not find what it looked for; an act without output did its work.
        self.is_in_vain = self.failed
        if outcome.key == NOTHING_FOUND.key:
            self.is_in_vain = self.is_question or bool(outcome.terms)
        # The same answer for a while is normal use; the same refusal is not.
        stays = self.is_move and not outcome.is_long and not outcome.failed
        self.may_repeat = self.needs_time or stays

    @property
    def names(self) -> frozenset[str]:
        """The names and numbers in its arguments: what the call is about."""
        return self.arguments.names

    def has_same_outcome(self, other: Step) -> bool:
        """Return whether the same came back: the same answer, or the same failure again."""
        one, two = self.outcome, other.outcome
        if one is None or two is None or self.refers_back or other.refers_back:
            return True
        is_same_failure = one.failure is not None and one.failure == two.failure
        return one.key == two.key or (is_same_failure and not (self.improved or one.is_long))

    def similarity(self, other: Step) -> float:
        """Return how near two requests are, in [0, 1]; 1 is the same request."""
        if self.request == other.request:
            return 1.0
        if self.verb != other.verb or not self.is_call:
            return 0.0
        acts = not self.is_question
        return normalize.argument_similarity(self.arguments, other.arguments, acts=acts)

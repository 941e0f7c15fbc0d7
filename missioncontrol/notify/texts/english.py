"""The texts that every language has, in English, and how a language writes figures.

Names in braces are filled in; a text has the same ones in every language.
"""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal

# In one call: two replacements, one after the other, would undo each other.
_SWAPPED = str.maketrans(",.", ".,")


@dataclass(frozen=True, slots=True, kw_only=True)
class Figures:
    """One language's way of writing figures."""

    has_decimal_comma: bool
    dollars: str
    percent: str
    under_a_minute: str

    def money(self, amount: Decimal) -> str:
        """Write dollars as the screens do.

        >>> from missioncontrol.notify.texts.english import Texts
        >>> money = Texts.figures.money
        >>> [money(Decimal(text)) for text in ("2.31", "0.004", "1204.4", "0.0001")]
        ['$2.31', '$0.004', '$1,204', '<$0.001']
        """
        # Rounded it would read $0.000, as if it were free.
        if Decimal(0) < amount < Decimal("0.0005"):
            return f"<{self._dollars(f'{0.001:.3f}')}"
        if Decimal(0) < amount < Decimal("0.01"):
            return self._dollars(f"{amount:.3f}")
        thousand = Decimal(1000)
        return self._dollars(f"{amount:,.0f}" if amount >= thousand else f"{amount:.2f}")

    def round_money(self, amount: Decimal) -> str:
        """Write dollars as people say them: `$5`, `$4.50`."""
        whole = amount == amount.to_integral_value()
        return self._dollars(f"{amount:,.0f}") if whole else self.money(amount)

    def whole(self, amount: Decimal | int) -> str:
        """Write a whole number with its thousands separated."""
        return self._written(f"{amount:,.0f}")

    def share(self, part: Decimal | float) -> str:
        """Write a fraction as a percentage."""
        return self.percent.format(n=f"{round(100 * part)}")

    def minutes(self, seconds: float) -> str:
        """Write a duration in minutes and hours, rounded down.

        >>> from missioncontrol.notify.texts.english import Texts
        >>> [Texts.figures.minutes(length) for length in (30, 60, 299, 3600, 5400)]
        ['under a minute', '1 min', '4 min', '1 h', '1 h 30 min']
        """
        # Rounded down: nobody is promised more time than there is.
        hours, rest = divmod(int(seconds // 60), 60)
        parts = (f"{hours} h" * bool(hours), f"{rest} min" * bool(rest))
        return " ".join(part for part in parts if part) or self.under_a_minute

    def _dollars(self, text: str) -> str:
        return self.dollars.format(n=self._written(text))

    def _written(self, text: str) -> str:
        return text.translate(_SWAPPED) if self.has_decimal_comma else text


class ReportTexts:
    """Texts of the report on a day's cost."""

    # In Django's date format: `l` is the weekday, `F` the month, in the language.
    date = "l j F Y"
    title = "{weekday} cost {cost}"
    corrected_title = "Corrected: {title}"
    was_reported = "previously reported as {usd}; {reason}."
    # By the reason stored with the report.
    reasons = {
        "usage or a price became known after it was made": "usage or a price became known after it was made"  # noqa: E501 - a text, in one piece
    }
    of_day_budget = "{share} of the daily budget."
    on_week_before = "{change} on the week before."
    loops_stopped = "{loops} stopped, {saved}."
    corrected = "Corrected."
    corrected_as = "Previously reported as {usd}; {reason}."
    spent = "Spent"
    budget = "Budget"
    budget_is = "{share} of {ceiling}{extra}; {rest}"
    over = "{usd} over"
    left = "{usd} left"
    extra = ", {usd} of it added for the day"
    week_before = "The same day a week before"
    nothing = "nothing"
    this_day = "{usd} (this day {change})"
    judge = "Judge, included"
    unpriced_on_top = "Unpriced, not included"
    loops = "Loops"
    loops_are = "{loops}, {stops} stopped"
    saved_by_stops = "Saved by stops"
    groups = {"agent": "Agent", "model": "Model", "project": "Project"}
    columns = ("Cost", "Week before", "Runs", "Loops", "Loops, 7 days")
    no_name = "not named"
    none = "none"
    unpriced = "unpriced"
    as_much = "no change"
    saved = "about {usd} saved"
    no_estimate = "no estimate yet"
    calls_unpriced = "{calls} unpriced{models}"
    parts = "agents {agents} + judge {judge}"
    all = "all"
    empty = "nothing"
    no_call = "No model call was counted."
    total = "Total with judge {total}: {parts}."
    in_no_amount = "Unpriced calls are in no amount."
    open = "Open it in Mission Control"
    how_saved = (
        "How “saved” is counted: an estimate. Each stop counts the median number of turns that "
        "unstopped loops of its kind took here, minus the turns already taken, times the cost per "
        "turn of its own loop; never more than was left of the run's budget."
    )
    no_estimate_yet = "No estimate yet: {samples} of {enough} such loops are known."
    samples = "{samples} such loops took {turns} turns, in the median."
    likely = "Likely {low} to {high}."
    counted = {"loop": ("loop", "loops"), "call": ("call", "calls")}

    def count(self, n: int, word: str) -> str:
        """Write a number with its noun."""
        one, many = self.counted[word]
        return f"{n} {one if n == 1 else many}"


class Texts:
    """Texts of cards and announcements, and of a notification's buttons."""

    language = "en"
    figures = Figures(
        has_decimal_comma=False, dollars="${n}", percent="{n}%", under_a_minute="under a minute"
    )
    report = ReportTexts()

    # titles
    still_held = "Still paused: {name}"
    still_open = "Still open: {name}"
    reached = "{name} reached {limit}"
    is_held = "{name} is paused"
    is_circling = "{name} is going in circles"
    is_repeating = "{name} is repeating"
    is_over_budget = "{name} is over budget"
    is_asking = "{name} asks you"
    is_at = "{name} is at {share}"
    # The owner of a ceiling, if it is no single run or agent.
    shared = {
        "tree": "{name} and its tree",
        "day": "Day",
        "project": "Project",
        "organisation": "The organisation",
    }
    # The organisation's ceiling, without what was spent of it.
    of_all_projects = "{ceiling} a day for all projects"

    # bodies
    still_running = "Still running, {rate}."
    held_at = {
        "run": "Paused at its run budget.",
        "agent": "Paused at its agent budget.",
        "tree": "Paused at its tree budget.",
        "project": "Paused at its project budget.",
        "day": "Paused at its daily budget.",
        "organisation": "Paused at the organisation's daily budget.",
    }
    fix = 'Fix: "{fix}"'
    an_hour = "{usd}/h"
    used = "{spent} of {ceiling}"
    left = ": about {time} left"
    # Singular and plural.
    units = {
        "tokens": ("token", "tokens"),
        "calls": ("call", "calls"),
        "turns": ("turn", "turns"),
        "seconds": ("second", "seconds"),
        "failures": ("failure", "failures"),
    }
    calls_unpriced = "Its calls are unpriced."
    no_cost = "No cost reported."
    unpriced_too = ", {n} calls unpriced"
    in_the_loop = "{usd} in the loop, "
    in_all = "{loop}{usd} in all{unpriced}."
    nobody_answered = "Nobody answered for {time}."
    meanwhile = "It keeps running meanwhile."
    may_it = "May it use {tool}? {call}"
    terminal_asks_too = "Its terminal asks the same."
    will = {"proceed": "In {time} it will continue.", "stop": "In {time} it will be stopped."}
    only_warns = "It keeps running: this run only warns. {what} {cost}"
    is_over = "It has ended: its telemetry arrived all at once. {what} {cost}"
    was_ended = "{name} was ended"
    ended_by_policy = "Its policy ended it. {what} {cost}"

    # more lines, where there is room
    agent = "Agent: {agent}"
    suggested_fix = "Suggested fix: {fix}"
    read_fix_there = "The card has a suggested fix."
    answer_here = "Answer it here: {link}"
    answer_there = "Answer it in Mission Control."

    # a test, and a sign-out
    test_title = "A test from Mission Control"
    test_body = "{by} sent this from {project}. Cards will reach you like this."
    signed_out_title = "Signed out"
    signed_out_body = (
        "This device was signed out of Mission Control. It gets no more notifications."
    )

    # buttons, and the outcomes of a card
    allow_once = "Allow once"
    deny = "Deny"
    read_call = "Read"
    inject_fix = "Inject fix"
    read_fix = "Read fix"
    proceed = "Continue"
    hold = "Pause"
    terminate_there = "Terminate…"
    allow_more = "Allow {amount} more"
    stop = "Stop…"
    stop_now = "Stop now"
    answered = "{name}: answered"
    by_person = {
        "continue": "{by} continued it.",
        "inject": "{by} injected the fix.",
        "terminate": "{by} ended it.",
        "allowlist": "{by} allowed the call.",
        "allow_budget": "{by} allowed more budget.",
        "finish": "{by} asked it to finish.",
        "restart": "{by} restarted it.",
        "allow_once": "{by} allowed it once.",
        "deny": "{by} denied it.",
    }
    by_itself = {
        "dismissed": "The judge saw no loop.",
        "autofix": "An autofix was injected.",
        "proceed": "No answer: it continues.",
        "stop": "No answer: it was stopped.",
        "ended": "The run has ended.",
        "superseded": "Another card replaced it.",
        "answered": "It was answered at its terminal.",
        "timed_out": "It can be answered at its terminal only.",
    }

    def sentence(self, english: str) -> str:
        """Translate a sentence of the guard; an unknown one stays as it is."""
        return english

    def amount(self, text: str, unit: str) -> str:
        """Write an amount of a budget with its unit.

        >>> from missioncontrol.notify.texts.english import Texts
        >>> Texts().amount("4.00", "usd"), Texts().amount("120000", "tokens")
        ('$4.00', '120,000 tokens')
        """
        value = Decimal(text)
        if unit == "usd":
            return self.figures.money(value)
        one, many = self.units.get(unit, (unit, unit))
        return f"{self.figures.whole(value)} {one if value == 1 else many}"

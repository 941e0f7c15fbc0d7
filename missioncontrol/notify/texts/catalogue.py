"""The texts every language has. Names in braces are filled in; both have the same ones."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from decimal import Decimal

# In one go: two replacements, one after the other, would undo each other.
_SWAPPED = str.maketrans(",.", ".,")


@dataclass(frozen=True, slots=True, kw_only=True)
class Figures:
    """How a language writes figures."""

    has_decimal_comma: bool
    dollars: str
    percent: str
    under_a_minute: str

    def money(self, amount: Decimal) -> str:
        """Write dollars as the screens do.

        >>> from missioncontrol.notify.texts.english import ENGLISH
        >>> money = ENGLISH.figures.money
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
        """Write dollars as a person says them: `$5`, `$4.50`."""
        whole = amount == amount.to_integral_value()
        return self._dollars(f"{amount:,.0f}") if whole else self.money(amount)

    def whole(self, amount: Decimal | int) -> str:
        """Write a whole number with its thousands marked."""
        return self._written(f"{amount:,.0f}")

    def share(self, part: Decimal | float) -> str:
        """Write a part of one in percent."""
        return self.percent.format(n=f"{round(100 * part)}")

    def minutes(self, seconds: float) -> str:
        """Write a length of time in minutes and hours, rounded down.

        >>> from missioncontrol.notify.texts.english import ENGLISH
        >>> [ENGLISH.figures.minutes(length) for length in (30, 60, 299, 3600, 5400)]
        ['under a minute', '1 min', '4 min', '1 h', '1 h 30 min']
        """
        # Rounded down: nobody is told of more time than there is.
        hours, rest = divmod(int(seconds // 60), 60)
        parts = (f"{hours} h" * bool(hours), f"{rest} min" * bool(rest))
        return " ".join(part for part in parts if part) or self.under_a_minute

    def _dollars(self, text: str) -> str:
        return self.dollars.format(n=self._written(text))

    def _written(self, text: str) -> str:
        return text.translate(_SWAPPED) if self.has_decimal_comma else text


@dataclass(frozen=True, slots=True, kw_only=True)
class Texts:
    """What is said of a card, of what asks nothing, and on a notification's buttons."""

    language: str
    figures: Figures
    sentence: Callable[[str], str]
    """The guard's sentence in this language, or as it is where it is not known."""
    report: ReportTexts

    # titles
    still_held: str
    still_open: str
    reached: str
    is_held: str
    is_circling: str
    is_repeating: str
    is_over_budget: str
    is_asking: str
    is_at: str
    shared: Mapping[str, str]
    """What nears its end, where that is no one run or agent."""
    of_all_projects: str
    """The organisation's ceiling, without what is used of it."""

    # bodies
    still_running: str
    held_at: Mapping[str, str]
    fix: str
    an_hour: str
    used: str
    left: str
    units: Mapping[str, tuple[str, str]]
    """Of one, and of more."""
    calls_unpriced: str
    no_cost: str
    unpriced_too: str
    in_the_loop: str
    in_all: str
    nobody_answered: str
    meanwhile: str
    may_it: str
    terminal_asks_too: str
    will: Mapping[str, str]
    only_warns: str
    is_over: str
    was_ended: str
    ended_by_policy: str

    # more lines, where there is room
    agent: str
    suggested_fix: str
    read_fix_there: str
    answer_here: str
    answer_there: str

    # a test
    test_title: str
    test_body: str
    signed_out_title: str
    signed_out_body: str

    # what can be tapped, and what came of a card
    allow_once: str
    deny: str
    read_call: str
    inject_fix: str
    read_fix: str
    proceed: str
    hold: str
    terminate_there: str
    allow_more: str
    stop: str
    stop_now: str
    answered: str
    by_person: Mapping[str, str]
    by_itself: Mapping[str, str]

    def amount(self, text: str, unit: str) -> str:
        """Write an amount of a budget with its unit.

        >>> from missioncontrol.notify.texts.english import ENGLISH
        >>> ENGLISH.amount("4.00", "usd"), ENGLISH.amount("120000", "tokens")
        ('$4.00', '120,000 tokens')
        """
        value = Decimal(text)
        if unit == "usd":
            return self.figures.money(value)
        one, many = self.units.get(unit, (unit, unit))
        return f"{self.figures.whole(value)} {one if value == 1 else many}"


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportTexts:
    """What is said of a day's cost."""

    weekdays: tuple[str, ...]
    months: tuple[str, ...]
    date: str
    title: str
    corrected_title: str
    was_told: str
    reasons: Mapping[str, str]
    """By what is kept with the report."""
    of_day_budget: str
    on_week_before: str
    loops_stopped: str
    corrected: str
    corrected_as: str
    spent: str
    budget: str
    budget_is: str
    over: str
    left: str
    extra: str
    week_before: str
    nothing: str
    this_day: str
    judge: str
    unpriced_on_top: str
    loops: str
    loops_are: str
    saved_by_stops: str
    groups: Mapping[str, str]
    columns: tuple[str, ...]
    no_name: str
    none: str
    unpriced: str
    as_much: str
    saved: str
    no_estimate: str
    calls_unpriced: str
    parts: str
    all: str
    empty: str
    no_call: str
    total: str
    in_no_amount: str
    open: str
    how_saved: str
    no_estimate_yet: str
    samples: str
    likely: str
    counted: Mapping[str, tuple[str, str]]

    def count(self, n: int, word: str) -> str:
        """Write a number with its word."""
        one, many = self.counted[word]
        return f"{n} {one if n == 1 else many}"

"""How a language writes figures."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal

# In one go: two replacements, one after the other, would undo each other.
_SWAPPED = str.maketrans(",.", ".,")


@dataclass(frozen=True, slots=True, kw_only=True)
class Figures:
    """One language's way of writing them."""

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

        >>> from missioncontrol.notify.texts.english import Texts
        >>> [Texts.figures.minutes(length) for length in (30, 60, 299, 3600, 5400)]
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

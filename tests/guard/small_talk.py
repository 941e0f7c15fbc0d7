"""Two agents that hand one matter round in ever fresh words: no rule can tell."""

from __future__ import annotations

from guard.turn import Role, Turn

_SAID = (
    "Could somebody own the invoice export?",
    "I would rather that billing looks at it.",
    "Our side waits until operations has an opinion.",
    "Perhaps a meeting settles ownership.",
    "Who writes down what we would need for that?",
    "That depends on the quarter's aims.",
    "Let me check with the others first, then decide.",
    "We ought to weigh every option.",
    "Legal has views about ledgers, I believe.",
    "Has anyone heard from the customer yet?",
    "Their contract speaks of monthly summaries.",
    "Which format did the auditors prefer?",
    "Spreadsheets, if memory serves me right.",
    "A prototype might calm the nerves upstairs.",
    "Prototypes tend to live for ever, though.",
    "Fair point, so who draws the line?",
    "Architects usually do such things.",
    "Ours left for a sabbatical in spring.",
    "Then finance may sponsor a replacement.",
    "Budget talks resume after the holidays.",
)


def small_talk(count: int, start: int = 0) -> list[Turn]:
    """Give the messages from one place on; there are twenty."""
    return [
        Turn(role=Role.ASSISTANT, agent=("planner", "critic")[place % 2], content=_SAID[place])
        for place in range(start, start + count)
    ]

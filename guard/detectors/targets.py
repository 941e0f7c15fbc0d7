"""Do like requests ask for the same thing, or each for another?

"Compare per argument, skip what is equal" (FINDINGS 2): three tables counted
with one long query are three questions, three wordings of one search are not.
"""

from __future__ import annotations

from collections.abc import Sequence

from guard.step import Step

_FEW = 3


def name_other_targets(steps: Sequence[Step]) -> bool:
    """Tell whether every call names something that none of the others does.

    Of more than three, one may ask again for what another did.
    """
    return _differ([step.names for step in steps])


def aim_elsewhere(steps: Sequence[Step]) -> bool:
    """Tell whether every call is for another thing, whatever a deed says of it.

    A question is told by all its words. A deed's target stands in its short
    arguments (a path, an id); its text may be worded in any way.
    """
    return _differ(
        [step.names if step.asks or step.runs else step.arguments.targets for step in steps]
    )


def changed_something(step: Step) -> bool:
    """Tell an effective edit, by its name or by the text that it carries."""
    if not step.acted:
        return False
    return step.edits or any(one.is_body and " " in one.text for one in step.arguments.values())


def _differ(names: Sequence[frozenset[str]]) -> bool:
    if not names:
        return False
    common = len(frozenset.intersection(*names))
    if common in map(len, names):
        return False  # it names nothing of its own
    spared = len(names) > _FEW
    return len(set(names)) >= len(names) - spared

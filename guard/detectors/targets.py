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
    if not steps:
        return False
    common = frozenset.intersection(*(step.names for step in steps))
    own = [step.names - common for step in steps]
    spared = len(own) > _FEW
    return all(own) and len(set(own)) >= len(own) - spared

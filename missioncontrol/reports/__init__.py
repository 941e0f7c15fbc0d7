"""The costs of a day, a week or a month, as people read them.

Owns `CostReport`. Adds up what `costs` counted, and states what loops cost and what stopping
them saved. May import `decisions` and everything below; writes only reports.

Begin with `accounting`; `savings` is the arithmetic, `daily` makes each day's report and corrects
it.
"""

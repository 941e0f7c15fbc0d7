"""What a day, a week or a month cost, as people read it.

Owns `CostReport`. Adds up what `costs` counted and tells what loops cost and what stopping
them saved. May import `decisions` and everything below; writes nothing but reports.

Begin with `accounting`; `account_parts` reads one project, `savings` is the arithmetic,
`daily` makes each day's report and corrects it.
"""

"""People, projects and keys: who there is, and who may see what.

Owns the rows of projects, memberships, agent keys, tokens and browsers, and how they sign
in. May import `broadcast`, `wire` and what is below; knows no run. What must stand on the
record is changed through `projects.access`.

Begin with `models`, then `selectors`: every reader is told apart there.
"""

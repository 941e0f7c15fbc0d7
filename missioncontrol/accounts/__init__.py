"""People, projects and keys: who exists, and who may see what.

Owns the rows of projects, memberships, agent keys, tokens and browsers, and how people sign
in. May import `broadcast`, `wire` and what is below; knows no run. Changes that must be
recorded go through `projects.access`.

Begin with `models`, then `selectors`, which identifies every caller.
"""

"""Who may reach a project, and by which rules its runs are watched.

Owns no table: keys, people and projects are rows of `accounts`, policies of `detection`.
Changes to them are made here, and each is an event on the project's chain. May import
`detection` and everything below.

Begin with `rules.change_project` and `access`.
"""

"""Codex: its hooks, its app server, the record of a session, its settings.

Begin with `hooks`: bodies read, answers written. `adapter` is what server and commands ask.
"""

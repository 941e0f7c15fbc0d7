"""Codex: its hooks, its app-server, the record of a session, its settings.

Start reading at `hooks`: it reads bodies and writes answers. Server and commands use `adapter`.
"""

"""Claude Code: its hooks, their answers, its settings, usage and telemetry.

Start reading at `hooks`: it reads bodies and writes answers. Server and commands use `adapter`.
"""

"""Claude Code: its hooks, what they are answered, its settings, usage and telemetry.

Begin with `hooks`: bodies read, answers written. `adapter` is what server and commands ask.
"""

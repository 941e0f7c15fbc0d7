"""Gemini CLI: its hooks, usage, trusted folders and settings.

Begin with `hooks`: bodies read, answers written. `adapter` is what server and commands ask.
"""

"""Cursor: its hooks and settings, from its documentation, unverified.

Begin with `hooks`: bodies read, answers written. `adapter` is what server and commands ask.
"""

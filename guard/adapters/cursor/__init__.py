"""Cursor: its hooks and settings, from its documentation, unverified.

Start reading at `hooks`: it reads bodies and writes answers. Server and commands use `adapter`.
"""

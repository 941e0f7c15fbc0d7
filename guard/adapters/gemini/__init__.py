"""Gemini CLI: its hooks, usage, trusted folders and settings.

Start reading at `hooks`: it reads bodies and writes answers. Server and commands use `adapter`.
"""

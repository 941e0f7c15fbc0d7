"""Loops in past sessions: what repeated, and what it cost. No server needed."""

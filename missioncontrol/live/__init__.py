"""Sockets for screens: a snapshot, then what happens.

Owns nothing: reads snapshots (`decisions.rows`) and passes on what `runs.journal`
published after its commits. Those who look at one place are an audience, and are told once.
"""

"""What happened: runs, their turns, model calls and the journal.

Owns the tables of `models`, and `journal`, the only writer of a run's state: it locks the
rows, writes events and columns in one transaction, and publishes after the commit. States
and moves are defined in `lifecycle`. May import `accounts` and what is below it; knows no cards,
no detection and no HTTP.

Begin with `lifecycle`, then `journal.lock_runs`, then `ingest`, which stores turns.
"""

"""A database backend for Django: its own PostgreSQL one, with fewer round trips.

Owns no table and knows none: `runs.statements` and `compiled` hand it what is written and read
together, everything else goes through Django's cursors, in the order in which it was asked for.

Begin with `base.DatabaseWrapper`, then `base.Pipeline`, which sends.
"""

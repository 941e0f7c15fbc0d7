"""A database backend for Django: Django's own for PostgreSQL, with fewer round trips.

Owns no table and knows none: `runs.statements` and `compiled_queries` pass it what is written and
read together; everything else goes through Django's cursors, in the order of the calls.

Begin with `base.DatabaseWrapper`, then `base.Pipeline`, which sends.
"""

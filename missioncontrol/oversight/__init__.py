"""Migrations of tables that other rooms own now, and nothing else.

`decisions`, `detection`, `costs` and `reports` were one app of this name; their tables are
still called `oversight_…`, so that no row had to move. New migrations belong to the rooms.
"""

"""Runs drawn by hand and by chance: loops, and healthy work that looks like one.

Each module draws one kind of agent. They are no recordings: their worlds (a
repository, a database, a shop, a house) are small simulations, their words come from
hand-written pools by a seeded choice, so that the same name is the same run.
Modules called `sealed_*` are for scoring only: nobody tunes to them.
"""

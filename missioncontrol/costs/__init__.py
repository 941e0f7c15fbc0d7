"""What runs cost: each model call counted once, and the sums that runs share.

Owns `Spend` (sums of a project, a day, an agent, a tree) and the rules of counting: which
source of a call counts (`ledger`), what it costs (`prices`), what a turn adds
(`counting`), what an agent's own telemetry reports (`telemetry`). `trees` puts a run under
a parent, because the run's use then counts towards the runs above. May import `runs`; never
opens a card.

Begin with `counting.count_turn`, then `spending.SharedCounters`.
"""

"""From stored turns to what follows: engines, policies, the judge.

Owns the data's way as code, what is asked of a judge (`Question`), policies as they stood
and backtests. May import `decisions` and everything below; only edges and `audit`,
`projects` and `reports` stand above it.

Begin with `pipeline.detect`. `dispatcher` and `tasks` bring runs to it, `engine_cache` keeps
an engine a run and `tree_engines` one a tree; `nudges` and `escalation` do what a policy
says of a signal, quietly and loudly; `judging` asks the judge outside of every lock.
"""

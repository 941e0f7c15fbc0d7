"""From stored turns to what follows: engines, policies, the judge.

Owns the data's way as code, what is asked of a judge (`Question`), policies as they stood
and backtests. May import `decisions` and everything below; only edges and `audit`,
`projects` and `reports` stand above it.

Begin with `pipeline.detect`, which reads what the pure step (judge, in guard) must know.
`dispatcher` and `tasks` bring runs to it, `engine_cache` keeps an engine a run and
`tree_engines` one a tree; `effects` does what the pure step says; `judging` asks the judge
outside of every lock. `reading` reads and judges what is imported, in processes with limits.
"""

"""From stored turns to their consequences: engines, policies, the judge.

Owns the detection pipeline, the questions to the judge (`Question`), policy versions,
backtests and recordings. May import `decisions` and everything below; only edges and `audit`,
`projects` and `reports` are above it.

Begin with `pipeline.detect`, which reads what the pure step (judge, in guard) must know.
`dispatcher` and `tasks` bring runs to it, `engine_cache` keeps an engine for each run and
`tree_engines` one for each tree; `effects` carries out what the pure step returns; `judging`
asks the judge outside every lock. `sandbox` reads and judges imports, in processes with limits.
"""

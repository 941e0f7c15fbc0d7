"""HTTP: for agents (`agents`, `hooks`, `otlp`), and for people (`views`).

Each handler parses a request, makes one call and answers. This package owns no table and no
rule: the packages below hold what a request does, `auth` holds who may ask. The agents' side is
coroutines without Django (`endpoint`); the people's side is REST: functions that `routing` calls
by their signature.

Begin with `agents`, then `endpoint`, then one view such as `views.runs`.
"""

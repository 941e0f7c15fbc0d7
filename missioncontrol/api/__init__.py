"""HTTP: for agents (`agents`, `hooks`, `otlp`), and for people (`views`).

Parses, makes one call, answers. Owns no table and no rule: what a request does stands in
the rooms below, who may ask in `auth`. The agents' side is coroutines without Django
(`endpoint`), people's is REST: functions that `routing` calls by their signature.

Begin with `agents`, then `endpoint`, then one view such as `views.runs`.
"""

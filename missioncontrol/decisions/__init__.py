"""What people, agents and elapsed time do to a run: cards, holds, answers, messages.

Owns decisions (the cards), interventions, messages, autofixes and the allowlist. Everything
happens under the run's lock, in a transaction of `runs.journal`. May import `costs`,
`notify` and `runs`; knows no detector: the caller that opens a card gives the reason.

Begin with `cards` and `holding`: a card opens and its agent waits. Then `interventions`: a
person answers with one of `actions`. `directives` is what the agent is told, `sessions` what the
agent reports and how its session ends, `deadlines` what happens when time runs out. `budgets`
and `permissions` open cards of their own kind.
"""

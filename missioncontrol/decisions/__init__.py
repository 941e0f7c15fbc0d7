"""What people, agents and time do to a run: cards, holds, answers, messages.

Owns decisions (the cards), interventions, messages, autofixes and the allowlist. All of it
happens under the run's lock, in a transaction of `runs.journal`. May import `costs`,
`notify` and `runs`; knows no detector: whoever opens a card says why.

Begin with `cards` and `holding`: a card opens and its agent waits. Then `interventions`: a
person answers with one of `acts`. `directives` is what the agent is told, `sessions` what it
tells and how it ends, `deadlines` what passed time does. `budgets` and `permissions`
open cards of their own kind.
"""

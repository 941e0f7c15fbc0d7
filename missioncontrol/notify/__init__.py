"""Reach people: push, mail, chat and webhooks.

Owns channels, devices and the outbox of deliveries. A notice is a row, written in the
transaction that causes it, and delivered by a task afterwards (`outbox`). May import `runs`
and below; reads what a card says, and never opens one.

Begin with `services`, then `outbox`, then one sender such as `web_push`.
"""

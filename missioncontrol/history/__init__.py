"""Search and export what happened, long after it did.

Owns the word index and saved views. Reads `runs` and `decisions`; writes nothing of theirs.

Begin with `language` (what can be asked), then `finding`.
"""

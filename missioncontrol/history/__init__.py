"""Search and export what happened, also long ago.

Owns the word index and saved views. Reads `runs` and `decisions`; writes none of their rows.

Begin with `language` (what can be asked), then `search`.
"""

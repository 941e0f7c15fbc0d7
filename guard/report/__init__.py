"""Report of loops in past sessions: what repeated, and what it cost. Needs no server."""

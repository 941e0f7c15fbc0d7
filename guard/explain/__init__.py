"""Why a turn was or was not flagged: its attempts, the score, and what each rule says."""

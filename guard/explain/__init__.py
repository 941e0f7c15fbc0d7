"""Why a turn was or was not flagged, detector by detector, rung by rung."""

"""How long a held call may wait, outermost first, so that no time-out lies.

The hook of the agent outlasts our forwarder, the forwarder outlasts the server's
longest hold: who ends a hold is a person or the project's `hold_limit`, never a
time-out that the agent takes for a yes.
"""

from __future__ import annotations

# Written into the agent's settings for the hook before a tool.
HOOK_HOLD_S = 3900

# How long before the hook's time-out our forwarder gives up, and does what fail-open or fail-closed
# says.
FORWARDER_EARLY_S = 120

# What a hook's time-out leaves on top of the server's longest hold, where that is longer.
MARGIN_S = 300

# Hooks that only report: the agent's time-out, and the forwarder's.
REPORT_HOOK_S = 30
REPORT_S = 20

"""The detectors, by name. The order breaks ties between equal scores.

A spent budget comes first: no correction and no allowlist entry makes money.
"""

from __future__ import annotations

from guard.detectors.base import Detector, View
from guard.detectors.broker import Broker
from guard.detectors.budget import BudgetCeiling
from guard.detectors.exact_repeat import ExactRepeat
from guard.detectors.fingerprint import Fingerprint
from guard.detectors.hand_offs import HandOffs
from guard.detectors.k_cycle import KCycle
from guard.detectors.loopguard import LoopGuard
from guard.detectors.monologue import Monologue
from guard.detectors.ping_pong import PingPong
from guard.detectors.ralph import Ralph
from guard.detectors.recurrence import Recurrence
from guard.detectors.relay import Relay
from guard.detectors.reverification import Reverification
from guard.detectors.same_error import SameError
from guard.detectors.semantic_repeat import SemanticRepeat
from guard.detectors.stagnation import Stagnation
from guard.detectors.stall import Stall

DETECTORS: dict[str, type[Detector]] = {
    "budget": BudgetCeiling,
    "exact_repeat": ExactRepeat,
    "semantic_repeat": SemanticRepeat,
    "ping_pong": PingPong,
    "k_cycle": KCycle,
    "same_error": SameError,
    "recurrence": Recurrence,
    "stagnation": Stagnation,
    "monologue": Monologue,
    "hand_offs": HandOffs,
    "relay": Relay,
    "reverification": Reverification,
    "stall": Stall,
    "broker": Broker,
    "fingerprint": Fingerprint,
    "ralph": Ralph,
    "loopguard": LoopGuard,
}

__all__ = ["DETECTORS", "Detector", "View"]

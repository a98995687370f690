"""User-defined parts: queue disciplines and congestion controls, under their own names in scenarios."""

from __future__ import annotations

from fairdrop.parts import param
from fairdrop.parts.congestion import CongestionControl
from fairdrop.parts.discipline import Discipline
from fairdrop.parts.registry import register, registered

__all__ = ["CongestionControl", "Discipline", "param", "register", "registered"]

"""Parts of one's own: queue disciplines in Python or compiled, under their own names in scenarios."""

from __future__ import annotations

from fairdrop.parts import param
from fairdrop.parts.discipline import Discipline
from fairdrop.parts.registry import register, registered

__all__ = ["Discipline", "param", "register", "registered"]

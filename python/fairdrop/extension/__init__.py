"""Extensions: user-defined queue disciplines and congestion controls, named in scenarios as the library's are."""

from __future__ import annotations

from fairdrop.extension import param
from fairdrop.extension.congestion import CongestionControl
from fairdrop.extension.discipline import Discipline
from fairdrop.extension.registry import register, registered

__all__ = ["CongestionControl", "Discipline", "param", "register", "registered"]

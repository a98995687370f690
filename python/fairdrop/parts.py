"""Former name of :mod:`fairdrop.extension`."""

from fairdrop.extension import CongestionControl, Discipline, param, register, registered

__all__ = ["CongestionControl", "Discipline", "param", "register", "registered"]

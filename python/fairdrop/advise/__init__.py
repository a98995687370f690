"""Which discipline for a link, with which parameters: searched, compared and checked by simulation.

>>> from fairdrop.advise import advise
>>> advise("100mbit", "20ms..80ms", 50).choice.told  # doctest: +SKIP
"""

from __future__ import annotations

from fairdrop.advise.advice import Advice, Check, Finalist, advise

__all__ = ["Advice", "Check", "Finalist", "advise"]

"""The discipline that suits a link, with its parameters: compared and checked by simulation, within a time limit.

>>> from fairdrop.advise import advise
>>> advise("100mbit", "20ms..80ms", 50).choice.told  # doctest: +SKIP
"""

from __future__ import annotations

from fairdrop.advise.advice import advise
from fairdrop.advise.answer import Advice, Check, Finalist
from fairdrop.advise.linux import Command

__all__ = ["Advice", "Check", "Command", "Finalist", "advise"]

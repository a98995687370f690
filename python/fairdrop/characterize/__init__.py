"""RFC 7928, the IETF's guideline for AQM, as a campaign: every discipline under every kind of load.

>>> from fairdrop.characterize import characterize
>>> characterize(["droptail", "fq_codel"], out="characterization", sections=["5.3"])  # doctest: +SKIP
"""

from __future__ import annotations

from fairdrop.characterize.campaign import characterize
from fairdrop.characterize.rows import Row
from fairdrop.characterize.scorecard import Scorecard, read_scorecard

__all__ = ["Row", "Scorecard", "characterize", "read_scorecard"]

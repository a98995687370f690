"""What several tests of the models need: the link of "Understanding CHOKe", and numbers of any size."""

from __future__ import annotations

import math

from hypothesis import strategies as st

BASE = {"capacity": 125.0, "tcp_flows": 32, "delay": 0.1, "min_th": 20, "max_th": 520, "max_p": 0.5}


def log_floats(low, high):
    """Numbers from ``low`` to ``high``, each order of magnitude as often as another."""
    return st.floats(math.log(low), math.log(high)).map(math.exp)

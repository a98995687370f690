"""Analytic models of CHOKe and its relatives: answers in milliseconds, and a yardstick for simulations.

* :func:`front_choke`, :func:`back_choke`: the queueing models of "CHOKe" (INFOCOM 2000), section IV;
  :func:`back_chain`, :func:`marching_soldiers`, :func:`tail_pair_shares`, :func:`tail_pair_share`.
* :func:`tcp_equilibrium`, :func:`tcp_sweep`, :func:`solve`: the fluid equilibrium of "Understanding CHOKe",
  with several candidates, several constant rates, several round-trip times; rate laws :class:`Reno`,
  :class:`Pftk` (with timeouts), :class:`Vegas`; :class:`Red`.
* :func:`profile`: who is where in the queue. :func:`share_curve`, :func:`approximate_share`,
  :func:`maximum_share`, :func:`tcp_approximate`: the approximate models.
* :func:`asymptote`, :func:`peak`, :func:`peak_share`, :func:`minimum_flows`, :func:`occupancy_bound`: limits.
* :func:`chokew_equilibrium`, :func:`ward_equilibrium`: equilibria of two other matching schemes.
* :func:`collar_shares`, :func:`collar_equilibrium`, :func:`collar_map`: the fixed points of COLLAR's limit, and which
  of them hold.
  :func:`collar_noise`, :func:`collar_margin`: the noise of its estimate, and the margin of its controller.
* :func:`sized_equilibrium`: packets of several sizes, drawn whole or chopped into cells. :func:`leaky_buffer`: other
  leaky buffers, and a FIFO that does not leak; :func:`fifo_profile`. :func:`network_equilibrium`: several congested
  links. :func:`integrate`: how an equilibrium is reached.
* :func:`tcp_grid`: any parameters over any values. Results have ``to_pandas()`` and ``to_xarray()``.

Units: packets, seconds, packets per second. Shares and probabilities are plain fractions. Results are
frozen dataclasses with ``to_dict()`` for JSON. Input that no queue can have raises ``ValueError`` starting
with the name of the argument; valid input without a solution raises :class:`NoEquilibriumError`.
"""

from fairdrop.models.approximate import (
    ApproximateEquilibrium,
    MaximumShare,
    ShareCurve,
    approximate_share,
    maximum_share,
    share_curve,
    tcp_approximate,
)
from fairdrop.models.back import (
    BackChain,
    BackChoke,
    back_chain,
    back_choke,
    marching_soldiers,
    tail_pair_share,
    tail_pair_shares,
)
from fairdrop.models.chokew import ChokeWEquilibrium, chokew_equilibrium
from fairdrop.models.collar import CollarEquilibrium, CollarShares, collar_equilibrium, collar_map, collar_shares
from fairdrop.models.collar_loop import CollarMargin, CollarNoise, collar_margin, collar_noise
from fairdrop.models.equilibrium import (
    ChokeLink,
    Equilibrium,
    draw_rate,
    solve,
    tcp_equilibrium,
)
from fairdrop.models.errors import BelowThresholdError, ConvergenceError, ModelError, NoEquilibriumError, TailDropError
from fairdrop.models.flows import ConstantRate, FlowClass, Responsive, doubts
from fairdrop.models.front import FrontChoke, front_choke
from fairdrop.models.leaky import LeakyBuffer, fifo_profile, leaky_buffer
from fairdrop.models.limits import (
    Asymptote,
    asymptote,
    drop_needed,
    flows_held,
    minimum_flows,
    minimum_flows_estimate,
    occupancy_bound,
    peak,
    peak_share,
)
from fairdrop.models.network import NetworkEquilibrium, Routed, network_equilibrium
from fairdrop.models.red import Red
from fairdrop.models.sizes import SizedEquilibrium, sized_equilibrium
from fairdrop.models.spatial import (
    Inflexion,
    SpatialProfile,
    inflexion,
    limit_profile,
    position,
    profile,
    profile_length,
    profile_ode,
)
from fairdrop.models.sweep import EquilibriumSweep, tcp_grid, tcp_sweep
from fairdrop.models.tcp import Pftk, RateLaw, Reno, Vegas
from fairdrop.models.transient import Timed, Transient, integrate
from fairdrop.models.ward import WardEquilibrium, ward_equilibrium

__all__ = [
    "ApproximateEquilibrium",
    "Asymptote",
    "BackChain",
    "BackChoke",
    "BelowThresholdError",
    "ChokeLink",
    "ChokeWEquilibrium",
    "CollarEquilibrium",
    "CollarMargin",
    "CollarNoise",
    "CollarShares",
    "ConstantRate",
    "ConvergenceError",
    "Equilibrium",
    "EquilibriumSweep",
    "FlowClass",
    "FrontChoke",
    "Inflexion",
    "LeakyBuffer",
    "MaximumShare",
    "ModelError",
    "NetworkEquilibrium",
    "NoEquilibriumError",
    "Pftk",
    "RateLaw",
    "Red",
    "Reno",
    "Responsive",
    "Routed",
    "ShareCurve",
    "SizedEquilibrium",
    "SpatialProfile",
    "TailDropError",
    "Timed",
    "Transient",
    "Vegas",
    "WardEquilibrium",
    "approximate_share",
    "asymptote",
    "back_chain",
    "back_choke",
    "chokew_equilibrium",
    "collar_equilibrium",
    "collar_map",
    "collar_margin",
    "collar_noise",
    "collar_shares",
    "doubts",
    "draw_rate",
    "drop_needed",
    "fifo_profile",
    "flows_held",
    "front_choke",
    "inflexion",
    "integrate",
    "leaky_buffer",
    "limit_profile",
    "marching_soldiers",
    "maximum_share",
    "minimum_flows",
    "minimum_flows_estimate",
    "network_equilibrium",
    "occupancy_bound",
    "peak",
    "peak_share",
    "position",
    "profile",
    "profile_length",
    "profile_ode",
    "share_curve",
    "sized_equilibrium",
    "solve",
    "tail_pair_share",
    "tail_pair_shares",
    "tcp_approximate",
    "tcp_equilibrium",
    "tcp_grid",
    "tcp_sweep",
    "ward_equilibrium",
]

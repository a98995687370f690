"""Which parameter of a discipline matters (RFC 7928, 8.3): Sobol's total indices over ranges about the defaults."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import isfinite
from typing import Any

from fairdrop.estimate import CONFIDENCE
from fairdrop.scenario import Scenario, ScenarioError

#: From the default divided by this to the default times this.
FACTOR = 2**0.5
_COLLAR = ("collar.target", "collar.span", "collar.share")
_RED = ("red.min_th", "red.max_th", "red.max_p", "red.w_q")
#: What is varied, in tables below ``queue``. Not here: extensions, and those without a number to set.
KNOBS: Mapping[str, Sequence[str]] = {
    "afd": ("afd.q_target", "afd.shadow", "afd.sample_every", "afd.alpha"),
    "a2fq": ("a2fq.buffer", "a2fq.queues", "a2fq.bytes_per_round"),
    "afq": ("afq.queues", "afq.bytes_per_round"),
    "ahab": ("ahab.k_flow", "ahab.k_link", "ahab.epoch"),
    "back_choke_memory": _RED,
    "black": (*_RED[:3], "black.samples"),
    "blue": ("blue.d1", "blue.d2", "blue.freeze"),
    "cake": ("cobalt.target", "cobalt.interval", "cake.quantum"),
    "care": ("care.captures", "care.capture", "care.threshold"),
    "cebinae": ("cebinae.tau", "cebinae.delta_port", "cebinae.delta_flow"),
    "choke": _RED,
    "choke_hardware": _RED,
    "choke_service": _RED,
    "chokew": ("chokew.l_th", "chokew.l_plus", "chokew.p_plus", "chokew.p_minus"),
    "class_choke": (*_RED[:3], "class_choke.quantum"),
    "cobalt": ("cobalt.target", "cobalt.interval", "cobalt.p_inc", "cobalt.p_dec"),
    "codel": ("codel.target", "codel.interval"),
    "codel_af": ("codel_af.target", "codel_af.interval", "codel_af.blue_threshold"),
    "collar": _COLLAR,
    "collar_hosts": (*_COLLAR, "collar_hosts.hosts"),
    "collar_integer": _COLLAR,
    "collar_sparse": (*_COLLAR, "collar_sparse.sparse", "collar_sparse.short"),
    "collarw": _COLLAR,
    "csfq": ("csfq.k", "csfq.k_alpha", "csfq.k_c"),
    "drr": ("drr.quantum",),
    "dualpi2": ("dualpi2.target", "dualpi2.rtt_max", "dualpi2.coupling"),
    "fair_drop": ("fair_drop.threshold",),
    "fair_policer": ("fair_policer.fraction", "fair_policer.depth", "fair_policer.alpha"),
    "flow_valve": (*_RED[:3], "flow_valve.back_off"),
    "fq_codel": ("codel.target", "codel.interval", "fq_codel.quantum"),
    "fq_pie": ("pie.target", "pie.t_update", "pie.alpha", "pie.beta", "fq_pie.quantum"),
    "fred": (*_RED[:3], "fred.min_q"),
    "gchoke": _RED,
    "mlc": ("mlc.target", "mlc.step", "mlc.t_update"),
    "penalty_box": (*_RED[:3], "penalty_box.interval"),
    "pie": ("pie.target", "pie.t_update", "pie.alpha", "pie.beta"),
    "red": _RED,
    "red_pd": (*_RED[:3], "red_pd.target_rtt"),
    "rio": _RED,
    "sfb": ("sfb.bin_size", "sfb.increment", "sfb.decrement", "sfb.penalty_rate"),
    "sfq": ("sfq.quantum", "sfq.perturb"),
    "sred": ("sred.max_p", "sred.overwrite", "sred.zombies"),
}
_BUFFER = ("limit",)
# Where the factor would break the order of thresholds, or leave the range.
_ENDS = {
    "chokew.l_th": (71, 124), "chokew.l_plus": (126, 247), "collar.share": (0.64, 1.0),
    "red.min_th": (71, 140), "red.max_th": (142, 283),
}  # fmt: skip


@dataclass(frozen=True)
class Influence:
    """Part of the variance of a measure that goes with a parameter, its interactions included, with 95 % interval."""

    parameter: str
    total: float
    low: float
    high: float


def axes(discipline: str, scenario: Scenario) -> dict[str, dict[str, Any]]:
    """The parameters of a discipline, which ``scenario`` has, as axes of a study that draws."""
    defaults = scenario.to_dict()["queue"]
    ranges = {name: _range(name, _default(name, defaults)) for name in KNOBS.get(discipline, ())}
    ranges = ranges or _ranges_of_own(discipline, defaults.get(discipline, {}), scenario)
    ranges = ranges or {name: _range(name, _default(name, defaults)) for name in _BUFFER}
    # Columns of their own: a parameter may be called as a measure is (collar.share).
    return {name.replace(".", "_"): {"field": f"queue.{name}", **ends} for name, ends in ranges.items()}


def _ranges_of_own(discipline: str, defaults: Mapping[str, Any], scenario: Scenario) -> dict[str, dict[str, Any]]:
    """Of a user-defined discipline: every number that is above zero, as far as its range goes."""
    found = {}
    for name, default in defaults.items():
        if isinstance(default, bool) or not isinstance(default, int | float) or default <= 0:
            continue
        ends = _range(name, float(default))
        for end in ("from", "to"):
            if not _is_valid(scenario, f"queue.{discipline}.{name}={ends[end]}"):
                ends[end] = default
        if ends["from"] < ends["to"]:
            found[f"{discipline}.{name}"] = ends
    return found


def _is_valid(scenario: Scenario, setting: str) -> bool:
    try:
        scenario.with_settings(setting)
    except ScenarioError:
        return False
    return True


def influences(names: Sequence[str], points: int, values: Sequence[float | None]) -> list[Influence]:
    """Total indices of the points of the design ``saltelli``; none where a value is missing or nothing varies.

    Intervals are percentiles over 999 resamples of the points. Source: A. Saltelli et al., "Variance based sensitivity
    analysis of model output", Computer Physics Communications 181(2), 2010.
    """
    import numpy
    from scipy.stats import bootstrap

    known = [value for value in values if value is not None and isfinite(value)]
    if len(known) != points * (len(names) + 2) or len(set(known)) == 1:
        return []
    if len(names) == 1:
        # All that varies goes with it.
        return [Influence(names[0], 1.0, 1.0, 1.0)]
    parts = numpy.array(known, dtype=float).reshape(len(names) + 2, points)

    def total(index: Any) -> Any:
        return _total_indices(parts[:, index])

    found = bootstrap(
        (numpy.arange(points),), total, vectorized=False, n_resamples=999, method="percentile",
        confidence_level=CONFIDENCE, random_state=numpy.random.default_rng(1),
    ).confidence_interval  # fmt: skip
    means = total(numpy.arange(points))
    rows = zip(names, means, numpy.atleast_1d(found.low), numpy.atleast_1d(found.high), strict=True)
    return [Influence(name, float(mean), float(low), float(high)) for name, mean, low, high in rows]


def _total_indices(parts: Any) -> Any:
    """``parts``: values at A, at B, and at A with one column of B each."""
    import numpy
    from scipy.stats import sobol_indices

    if numpy.ptp(parts[:2]) == 0:
        return numpy.zeros(len(parts) - 2)
    values: Any = {"f_A": parts[:1], "f_B": parts[1:2], "f_AB": parts[2:, None, :]}
    return sobol_indices(func=values, n=parts.shape[1]).total_order.ravel()


def _default(name: str, defaults: Mapping[str, Any]) -> float:
    found: Any = defaults
    for word in name.split("."):
        found = found[word]
    return float(found)


def _range(name: str, default: float) -> dict[str, Any]:
    low, high = _ENDS.get(name, (default / FACTOR, default * FACTOR))
    if default == int(default) and default >= 4:
        low, high = round(low), round(high)
    return {"from": low, "to": high, "log": True}

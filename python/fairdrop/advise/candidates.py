"""Disciplines that advice chooses from: what is set by the link, what is searched, and how Linux is told."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from math import log

from fairdrop.advise.link import PACKET_BYTES, Link
from fairdrop.wording.numbers import digits

Values = Mapping[str, float]
# Weight of RED's average that tc derives from `burst`, as 2 to the power of minus this.
_W_LOG = 9
#: The rate of a shaper in front of a slower link, as a part of that link's, so that the queue is in the shaper.
SHAPED = 0.95
# Memory that Linux counts for a packet of 1500 bytes: 2048 of data and 256 of description.
_PACKET_MEMORY = 2304


@dataclass(frozen=True)
class Knob:
    """A parameter that is searched between two ends, by ratios. ``usual`` is its default."""

    name: str
    low: float
    high: float
    usual: float
    whole: bool = False

    def at(self, part: float) -> float:
        """The value at ``part`` of the way, from 0 to 1, in three digits."""
        value = self.low * (self.high / self.low) ** min(max(part, 0.0), 1.0)
        return float(round(value)) if self.whole else float(f"{value:.3g}")

    def part(self, value: float) -> float:
        """How far along a value is."""
        return log(value / self.low) / log(self.high / self.low)


@dataclass(frozen=True)
class Candidate:
    """A discipline with its parameters for a link."""

    discipline: str
    knobs: Callable[[Link], Sequence[Knob]]
    #: ``--set`` of parameters.
    settings: Callable[[Link, Values], list[str]]
    #: What follows ``tc qdisc replace dev DEV root``; None where Linux has no such qdisc, or none without classes.
    tc: Callable[[Link, Values], str] | None
    #: Why there is no command, or what is to be known of it.
    remark: str = ""
    #: The same in front of a slower link, where it has a shaper of its own.
    tc_in_front: Callable[[Link, Values], str] | None = None

    def usual(self, link: Link) -> dict[str, float]:
        """Parameters as they are without a search."""
        return {knob.name: knob.usual for knob in self.knobs(link)}

    def scenario_settings(self, link: Link, values: Values) -> list[str]:
        """The discipline and its parameters as settings of a scenario."""
        return [f"queue.discipline={self.discipline}", *self.settings(link, values)]


def _ms(seconds: float) -> str:
    return f"{digits(1e3 * seconds)}ms"


def _us(seconds: float) -> str:
    """Tc's times, in whole microseconds."""
    return f"{round(1e6 * seconds)}us"


def _limit_knobs(link: Link) -> list[Knob]:
    full = link.buffer_packets
    return [Knob("limit", max(0.02 * full, 5), full, full, whole=True)]


def _limit(_link: Link, values: Values) -> list[str]:
    return [f"queue.limit={values['limit']:.0f}p"]


def _red_knobs(link: Link) -> list[Knob]:
    full = link.buffer_packets
    return [
        Knob("min_th", max(0.02 * full, 2), 0.3 * full, max(round(full / 12), 2), whole=True),
        Knob("max_p", 0.02, 0.5, 0.1),
    ]


def _thresholds(link: Link, values: Values) -> tuple[int, int]:
    """``max_th`` is three times ``min_th``, as far as there is a buffer.

    Source: S. Floyd, "RED: Discussions of Setting Parameters", 1997.
    """
    low = round(values["min_th"])
    return low, min(3 * low, link.buffer_packets)


def _red(link: Link, values: Values) -> list[str]:
    low, high = _thresholds(link, values)
    return [
        f"queue.red.min_th={low}p", f"queue.red.max_th={high}p", f"queue.red.max_p={values['max_p']:g}",
        f"queue.red.w_q={2.0**-_W_LOG}", f"queue.red.mean_packet_size={PACKET_BYTES}",
    ]  # fmt: skip


def burst(min_packets: int, w_log: int = _W_LOG) -> int:
    """The ``burst`` from which tc derives the weight 2^-w_log: the largest that does.

    tc takes the least w_log with ``burst + 1 - min <= (1 - (1 - W)^burst) / W``, W = 2^-w_log (iproute2, tc_red.c).
    """
    weight, found = 2.0**-w_log, min_packets
    while found + 2 - min_packets <= (1 - (1 - weight) ** (found + 1)) / weight:
        found += 1
    return found


def _tc_red(link: Link, values: Values) -> str:
    low, high = _thresholds(link, values)
    return (
        f"red limit {link.buffer_packets * PACKET_BYTES} min {low * PACKET_BYTES} max {high * PACKET_BYTES} "
        f"avpkt {PACKET_BYTES} burst {burst(low)} bandwidth {link.rate_bps}bit probability {values['max_p']:g}"
    )


def _tc_choke(link: Link, values: Values) -> str:
    low, high = _thresholds(link, values)
    return (
        f"choke limit {link.buffer_packets} min {low} max {high} avpkt {PACKET_BYTES} burst {burst(low)} "
        f"bandwidth {link.rate_bps}bit probability {values['max_p']:g}"
    )


def _codel_knobs(link: Link) -> list[Knob]:
    return [Knob("target", 0.001, 0.03, 0.005), Knob("interval", 0.5 * link.high_rtt_s, 4 * link.high_rtt_s, 0.1)]


def _codel(_link: Link, values: Values) -> list[str]:
    return [f"queue.codel.target={values['target']:g}", f"queue.codel.interval={values['interval']:g}"]


def _tc_codel(kind: str) -> Callable[[Link, Values], str]:
    def tc(link: Link, values: Values) -> str:
        times = f"target {_us(values['target'])} interval {_us(values['interval'])}"
        return f"{kind} limit {link.buffer_packets} {times} noecn"

    return tc


def _cake_knobs(link: Link) -> list[Knob]:
    return [Knob("interval", 0.5 * link.high_rtt_s, 4 * link.high_rtt_s, 0.1)]


def _cake(_link: Link, values: Values) -> list[str]:
    """The target is a twentieth of the interval, as ``cake rtt INTERVAL`` has it (iproute2, q_cake.c).

    A shaper at the link's own rate changes nothing but what CAKE knows of it, which is the default here.
    """
    return [f"queue.cobalt.interval={values['interval']:g}", f"queue.cobalt.target={values['interval'] / 20:g}"]


def _tc_cake(link: Link, values: Values, part: float = 1.0) -> str:
    memory = link.buffer_packets * _PACKET_MEMORY
    rate = f"bandwidth {round(part * link.rate_bps)}bit"
    return f"cake {rate} besteffort triple-isolate rtt {_us(values['interval'])} memlimit {memory}"


def _tc_cake_in_front(link: Link, values: Values) -> str:
    return _tc_cake(link, values, SHAPED)


def _pie_knobs(_link: Link) -> list[Knob]:
    return [Knob("target", 0.002, 0.05, 0.015), Knob("t_update", 0.005, 0.05, 0.015)]


def _pie(_link: Link, values: Values) -> list[str]:
    return [f"queue.pie.target={values['target']:g}", f"queue.pie.t_update={values['t_update']:g}"]


def _tc_pie(link: Link, values: Values) -> str:
    times = f"target {_us(values['target'])} tupdate {_us(values['t_update'])}"
    return f"pie limit {link.buffer_packets} {times} alpha 2 beta 20 noecn"


def _dualpi2_knobs(_link: Link) -> list[Knob]:
    return [Knob("target", 0.002, 0.05, 0.015)]


def _dualpi2(_link: Link, values: Values) -> list[str]:
    return [f"queue.dualpi2.target={values['target']:g}"]


def _afd_knobs(link: Link) -> list[Knob]:
    full = link.buffer_packets
    return [Knob("q_target", max(0.02 * full, 2), 0.7 * full, max(round(full / 3), 2), whole=True)]


def _afd(_link: Link, values: Values) -> list[str]:
    return [f"queue.afd.q_target={values['q_target']:.0f}p", f"queue.afd.mean_packet_size={PACKET_BYTES}"]


CANDIDATES: Mapping[str, Candidate] = {
    one.discipline: one
    for one in (
        Candidate("droptail", _limit_knobs, _limit, lambda _, values: f"pfifo limit {values['limit']:.0f}"),
        Candidate("red", _red_knobs, _red, _tc_red),
        Candidate("choke", _red_knobs, _red, _tc_choke),
        Candidate("codel", _codel_knobs, _codel, _tc_codel("codel")),
        Candidate("pie", _pie_knobs, _pie, _tc_pie),
        Candidate(
            "dualpi2", _dualpi2_knobs, _dualpi2,
            lambda link, values: f"dualpi2 limit {link.buffer_packets} target {_us(values['target'])}",
            "not checked: the iproute2 6.1 that checked the others does not know it",
        ),
        Candidate(
            "sfq", _limit_knobs, _limit,
            lambda _, values: f"sfq limit {values['limit']:.0f} perturb 10 quantum 1514",
            "the kernel's sfq holds 127 packets of a flow at most",
        ),
        Candidate("fq_codel", _codel_knobs, _codel, _tc_codel("fq_codel")),
        Candidate(
            "cake", _cake_knobs, _cake, _tc_cake,
            "hosts share first; in the simulation each has one flow",
            _tc_cake_in_front,
        ),
        Candidate("afd", _afd_knobs, _afd, None, "Linux has no AFD; switches have"),
        Candidate("drr", _limit_knobs, _limit, None, "Linux's drr needs a class for each flow"),
    )
}  # fmt: skip


def told(values: Values) -> str:
    """Parameters in words: ``target 5 ms, interval 100 ms``."""
    times = ("target", "interval", "t_update")
    return ", ".join(f"{name} {_ms(value) if name in times else digits(value)}" for name, value in values.items())

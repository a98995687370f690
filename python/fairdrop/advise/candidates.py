"""Disciplines that advice chooses from, with the parameters that publications give for a link.

Nothing is tuned to a simulation: a discipline has its defaults, and where the round trips are far from those that the
defaults are for, the same rules with the link's own.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from math import ceil, floor, log10

from fairdrop.advise.link import PACKET_BYTES, Link
from fairdrop.advise.profiles import Profile
from fairdrop.extension.registry import compiled, registered
from fairdrop.library import catalogue
from fairdrop.wording.disciplines import discipline_name
from fairdrop.wording.numbers import duration

Values = Mapping[str, float]
#: Names of variants.
USUAL, OWN = "defaults", "for this link"
# Weight of RED's average: 2 to the power of minus this (Floyd, Jacobson 1993: 0.002).
W_LOG = 9
# Linux's limits where nobody says: of codel and pie, of fq_codel and fq_pie, and of cake in full packets.
LIMITS = {"codel": 1000, "pie": 1000, "dualpi2": 10_000, "fq_codel": 10_240, "fq_pie": 10_240}
_CAKE_BYTES, CAKE_PACKET = 4 << 20, 2304
# Least target, as a part of the interval (twice it at most; RFC 8290, 5.2.2), and in packets' times.
_TARGET, _PACKETS = 0.05, 1.5
# Defaults of CoDel and PIE (RFC 8289, 4.3 and 4.4; RFC 8033, 4.2).
_CODEL_TARGET, _CODEL_INTERVAL, _PIE_TARGET = 0.005, 0.1, 0.015
# Largest ratio of round trip and interval, either way, that needs no other interval (tc-cake(8)).
_FAR = 2.5
# The threshold above which a switch marks for DCTCP: a seventh of the bandwidth-delay product, and what was deployed
# at 1 and 10 Gb/s (Alizadeh et al. 2010, 3.4 and 3.5).
_STEP_PART, _STEP_SLOW, _STEP_FAST, _FAST_BPS = 7, 20, 65, 5_000_000_000


@dataclass(frozen=True)
class Setting:
    """A discipline with parameters."""

    discipline: str
    variant: str = USUAL
    values: tuple[tuple[str, float], ...] = ()
    #: ``--set`` of the parameters.
    settings: tuple[str, ...] = ()

    @property
    def in_words(self) -> str:
        """The discipline and its parameters in words."""
        words = in_words(dict(self.values))
        return f"{discipline_name(self.discipline)}{f' with {words}' if words else ''}"

    @property
    def scenario_settings(self) -> list[str]:
        """The discipline and its parameters as settings of a scenario."""
        return [f"queue.discipline={self.discipline}", *self.settings]


def in_words(values: Values) -> str:
    """Parameters in words: ``target 5 ms, interval 100 ms``."""
    times = ("target", "interval", "t_update")
    return ", ".join(f"{name} {duration(value) if name in times else f'{value:g}'}" for name, value in values.items())


def settings_of(name: str, link: Link, profile: Profile) -> list[Setting]:
    """The variants of a discipline for a link, its defaults first."""
    if name not in _VARIANTS:
        return [Setting(name, settings=(f"queue.limit={profile.buffer_packets(link)}p",))]
    found = _VARIANTS[name](link, profile)
    return [one for number, one in enumerate(found) if one.values not in [other.values for other in found[:number]]]


def own_disciplines() -> list[str]:
    """Those that came with ``--extension`` or ``fairdrop.register``."""
    own = {part.name for part in compiled(registered())}
    return [str(entry["name"]) for entry in catalogue()["disciplines"] if entry["name"] in own]


def published(some: Sequence[Setting], link: Link) -> Setting:
    """The variant of a discipline that needs no trial.

    Its defaults, unless the round trip is above what they are for, or another order of magnitude below (tc-cake(8)).
    """
    own = next((one for one in some if one.variant == OWN), some[0])
    return own if not 0.1 <= link.high_rtt_s / _CODEL_INTERVAL <= _FAR else some[0]


def limit_of(name: str, link: Link) -> int:
    """Packets that Linux's default holds, or two bandwidth-delay products where those are more."""
    return max(LIMITS[name], 2 * link.bdp_packets)


def codel_times(link: Link) -> list[tuple[str, float, float]]:
    """Variants of target and interval.

    The interval is the worst round trip, 100 ms by default; the target a twentieth of it, but never less than a packet
    and a half takes (RFC 8290, 5.2.1 and 5.2.2; sch_cake.c has the half). The interval is ten targets at least.
    """
    found = [(USUAL, _CODEL_TARGET, _CODEL_INTERVAL)]
    if not 1 / _FAR <= link.high_rtt_s / _CODEL_INTERVAL <= _FAR:
        found.append((OWN, _TARGET * rounded_up(link.high_rtt_s), rounded_up(link.high_rtt_s)))
    least = rounded_up(_PACKETS * link.packet_s)
    return [
        (variant, target, interval) if target >= least else (variant, least, max(interval, round(10 * least, 9)))
        for variant, target, interval in found
    ]


def rounded_up(value: float) -> float:
    """To two digits, never down."""
    unit = 10.0 ** (floor(log10(value)) - 1)
    return float(f"{ceil(round(value / unit, 6)) * unit:.3g}")


def _codel(name: str) -> Callable[[Link, Profile], list[Setting]]:
    def variants(link: Link, _profile: Profile) -> list[Setting]:
        # As Linux has it: a queue of one packet may drop it while others are long.
        linux = ("queue.fq_codel.mtu_backlog=all",) if name == "fq_codel" else ()
        limit = f"queue.limit={limit_of(name, link)}p"
        return [
            Setting(
                name, variant, (("target", target), ("interval", interval)),
                (limit, f"queue.codel.target={target!r}", f"queue.codel.interval={interval!r}", *linux),
            )
            for variant, target, interval in codel_times(link)
        ]  # fmt: skip

    return variants


def _cake(link: Link, _profile: Profile) -> list[Setting]:
    """The target is a twentieth of the interval, and raised as the rate asks: both follow ``rtt`` (q_cake.c).

    A shaper at the link's own rate changes nothing but what CAKE knows of it, which is the default here.
    """
    found = []
    for variant, _, interval in codel_times(link):
        limit = max(_CAKE_BYTES // CAKE_PACKET, ceil(4 * link.rate_bps * interval / 8 / CAKE_PACKET))
        times = (f"queue.cobalt.interval={interval!r}", f"queue.cobalt.target={interval / 20!r}")
        found.append(Setting("cake", variant, (("interval", interval),), (f"queue.limit={limit}p", *times)))
    return found


def _pie(name: str) -> Callable[[Link, Profile], list[Setting]]:
    def variants(link: Link, _profile: Profile) -> list[Setting]:
        least = rounded_up(_PACKETS * link.packet_s)
        found = [(USUAL, max(_PIE_TARGET, least), _PIE_TARGET)]
        if link.high_rtt_s < _PIE_TARGET / _FAR:
            # Both follow the round trip, as the defaults are those of the Internet (RFC 8033, 4.2 and 4.3).
            short = max(rounded_up(link.high_rtt_s), least)
            found.append((OWN, short, short))
        ecn = ("queue.fq_pie.ecn=true",) if name == "fq_pie" else ()
        linux = (f"queue.pie.mean_packet_size={PACKET_BYTES}", "queue.pie.derandomise=true")
        return [
            Setting(
                name, variant, (("target", target), ("t_update", t_update)),
                (f"queue.limit={limit_of(name, link)}p", f"queue.pie.target={target!r}",
                 f"queue.pie.t_update={t_update!r}", *linux, *ecn),
            )
            for variant, target, t_update in found
        ]  # fmt: skip

    return variants


def _dualpi2(link: Link, _profile: Profile) -> list[Setting]:
    least = rounded_up(_PACKETS * link.packet_s)
    found = [(USUAL, max(_PIE_TARGET, least), 0.1)]
    if link.high_rtt_s < _PIE_TARGET / _FAR:
        found.append((OWN, max(rounded_up(link.high_rtt_s), least, 1e-4), max(rounded_up(5 * link.high_rtt_s), 1e-4)))
    return [
        Setting(
            "dualpi2", variant, (("target", target),),
            (f"queue.limit={limit_of('dualpi2', link)}p", f"queue.dualpi2.target={target!r}",
             f"queue.dualpi2.rtt_max={rtt_max!r}"),
        )
        for variant, target, rtt_max in found
    ]  # fmt: skip


def _red(name: str) -> Callable[[Link, Profile], list[Setting]]:
    def variants(link: Link, profile: Profile) -> list[Setting]:
        buffer = profile.buffer_packets(link)
        if profile.other is not None:
            fast = _STEP_FAST if link.rate_bps >= _FAST_BPS else _STEP_SLOW
            steps = [(OWN, fast), (OWN, max(ceil(link.bdp_packets / _STEP_PART), 5))]
            return [_red_setting(name, variant, buffer, step, step + 1, 1.0, 1) for variant, step in steps]
        # max_th three times min_th, a quarter of the buffer (S. Floyd, "RED: Discussions of Setting Parameters", 1997).
        low = max(round(buffer / 12), 5)
        return [_red_setting(name, USUAL, buffer, low, min(3 * low, buffer), 0.1, W_LOG)]

    return variants


def _red_setting(name: str, variant: str, buffer: int, low: int, high: int, max_p: float, w_log: int) -> Setting:
    return Setting(
        name, variant, (("min_th", low), ("max_th", high), ("max_p", max_p), ("w_log", w_log), ("limit", buffer)),
        (f"queue.limit={buffer}p", f"queue.red.min_th={low}p", f"queue.red.max_th={high}p", f"queue.red.max_p={max_p}",
         f"queue.red.w_q={2.0**-w_log}", f"queue.red.mean_packet_size={PACKET_BYTES}", "queue.red.ecn=true"),
    )  # fmt: skip


def _fifo(name: str) -> Callable[[Link, Profile], list[Setting]]:
    def variants(link: Link, profile: Profile) -> list[Setting]:
        buffer = profile.buffer_packets(link)
        return [Setting(name, USUAL, (("limit", buffer),), (f"queue.limit={buffer}p",))]

    return variants


_VARIANTS: Mapping[str, Callable[[Link, Profile], Sequence[Setting]]] = {
    "fq_codel": _codel("fq_codel"),
    "codel": _codel("codel"),
    "cake": _cake,
    "fq_pie": _pie("fq_pie"),
    "pie": _pie("pie"),
    "dualpi2": _dualpi2,
    "red": _red("red"),
    "choke": _red("choke"),
    "sfq": _fifo("sfq"),
    "droptail": _fifo("droptail"),
}

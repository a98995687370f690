"""Commands of ``tc`` for a choice, with the options that the link needs."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from fairdrop.advise.candidates import LIMITS, USUAL, Setting, Values, limit_of
from fairdrop.advise.link import PACKET_BYTES, Link
from fairdrop.advise.profiles import ACCESS, Profile

#: Rates of a shaper in front of a slower link, as parts of that link's, so that the queue is in the shaper; and of one
#: behind it, on the way down.
UP, DOWN = 0.95, 0.9
# CAKE's interval by default.
_CAKE_INTERVAL = 0.1
_NOT_LINUX = {"afd": "Linux has no AFD; switches have", "drr": "Linux's drr needs a class for each flow"}
_REMARKS = {
    "sfq": "the kernel's sfq holds 127 packets of a flow at most",
    "cake": "hosts share first; in the simulation each has one flow",
    "dualpi2": "not checked: the iproute2 6.1 that checked the others does not know it",
}


@dataclass(frozen=True)
class Command:
    """Lines for a place; ``DEV`` stands for the device."""

    where: str
    lines: tuple[str, ...]


def remark(discipline: str) -> str:
    """A remark on the qdisc, or the reason why there is none."""
    if discipline not in _QDISCS and discipline != "cake":
        return _NOT_LINUX.get(discipline, "Linux has no such qdisc")
    return _REMARKS.get(discipline, "")


def commands(setting: Setting, link: Link, profile: Profile, access: str) -> list[Command]:
    """For each place where the queue may be: at the link itself, and in front of a slower one, up and down."""
    if setting.discipline == "cake":
        shaped: Callable[[str, str, float, str], list[str]] = _cake_at(setting, link, profile, access)
        plain = " ".join(["cake", f"bandwidth {_rate(link.rate_bps)}", "besteffort", *_cake_words(setting, access)])
    elif setting.discipline in _QDISCS:
        plain = _QDISCS[setting.discipline](setting, link)
        shaped = _behind_htb(plain, link, access)
    else:
        return []
    at_link = Command("where the device is the link", (f"tc qdisc replace dev DEV root {plain}",))
    if not profile.behind:
        return [at_link]
    ifb = (
        "ip link add ifb0 type ifb",
        "ip link set ifb0 up",
        "tc qdisc replace dev DEV handle ffff: ingress",
        "tc filter replace dev DEV parent ffff: matchall action mirred egress redirect dev ifb0",
    )
    return [
        Command("up, in front of a modem", tuple(shaped("DEV", "up", UP, "ack-filter"))),
        Command("down, behind it", (*ifb, *shaped("ifb0", "down", DOWN, "ingress wash"))),
        at_link,
    ]


def _cake_words(setting: Setting, access: str) -> list[str]:
    interval = dict(setting.values)["interval"]
    rtt = [] if interval == _CAKE_INTERVAL else [f"rtt {_time(interval)}"]
    return [word for word in (*rtt, ACCESS[access][0]) if word]


def _cake_at(
    setting: Setting, link: Link, profile: Profile, access: str
) -> Callable[[str, str, float, str], list[str]]:
    def shaped(device: str, way: str, part: float, more: str) -> list[str]:
        rate = f"bandwidth {_rate(part * link.rate_bps)}"
        # A rate that varies is followed on the way down (tc-cake(8), autorate-ingress).
        auto = ["autorate-ingress"] if profile.varies and way == "down" else []
        hosts = "dual-srchost" if way == "up" else "dual-dsthost"
        words = ["cake", rate, *auto, "besteffort", hosts, "nat", more, *_cake_words(setting, access)]
        return [f"tc qdisc replace dev {device} root {' '.join(words)}"]

    return shaped


def _behind_htb(plain: str, link: Link, access: str) -> Callable[[str, str, float, str], list[str]]:
    def shaped(device: str, _way: str, part: float, _more: str) -> list[str]:
        stab = f"stab {ACCESS[access][1]} " if ACCESS[access][1] else ""
        return [
            f"tc qdisc replace dev {device} root handle 1: {stab}htb default 1",
            f"tc class replace dev {device} parent 1: classid 1:1 htb rate {_rate(part * link.rate_bps)}",
            f"tc qdisc replace dev {device} parent 1:1 {plain}",
        ]

    return shaped


def _rate(bps: float) -> str:
    """Tc's rates, each in the largest unit that makes it a whole number."""
    whole = round(bps)
    for divisor, unit in ((10**9, "gbit"), (10**6, "mbit"), (10**3, "kbit")):
        if whole % divisor == 0:
            return f"{whole // divisor}{unit}"
    return f"{whole}bit"


def _time(seconds: float) -> str:
    """Tc's times, in milliseconds where they are whole, otherwise in microseconds, never down."""
    micro = round(1e6 * seconds, 3)
    return f"{micro / 1000:.0f}ms" if micro % 1000 == 0 else f"{-int(-micro // 1)}us"


def _limit(setting: Setting, link: Link) -> list[str]:
    limit = limit_of(setting.discipline, link)
    return [] if limit == LIMITS[setting.discipline] else [f"limit {limit}"]


def _codel(setting: Setting, link: Link) -> str:
    values = dict(setting.values)
    usual = setting.variant == USUAL and values["target"] == 0.005
    times = [] if usual else [f"target {_time(values['target'])}", f"interval {_time(values['interval'])}"]
    # On by default in fq_codel, off in codel.
    ecn = ["ecn"] if setting.discipline == "codel" else []
    return " ".join([setting.discipline, *_limit(setting, link), *times, *ecn])


def _pie(setting: Setting, link: Link) -> str:
    values = dict(setting.values)
    usual = values == {"target": 0.015, "t_update": 0.015}
    times = [] if usual else [f"target {_time(values['target'])}", f"tupdate {_time(values['t_update'])}"]
    return " ".join([setting.discipline, *_limit(setting, link), *times, "ecn"])


def _dualpi2(setting: Setting, link: Link) -> str:
    return f"dualpi2 limit {limit_of('dualpi2', link)} target {_time(dict(setting.values)['target'])}"


def burst(min_packets: int, w_log: int) -> int:
    """The ``burst`` from which tc derives the weight 2^-w_log: the largest that does.

    tc takes the least w_log with ``burst + 1 - min <= (1 - (1 - W)^burst) / W``, W = 2^-w_log (iproute2, tc_red.c).
    """
    weight, found = 2.0**-w_log, min_packets
    while found + 2 - min_packets <= (1 - (1 - weight) ** (found + 1)) / weight:
        found += 1
    return found


def _average(values: Values, link: Link) -> str:
    found = burst(round(values["min_th"]), round(values["w_log"]))
    return f"avpkt {PACKET_BYTES} burst {found} bandwidth {_rate(link.rate_bps)} probability {values['max_p']:g} ecn"


def _red(setting: Setting, link: Link) -> str:
    values = dict(setting.values)
    low, high, limit = (round(values[name] * PACKET_BYTES) for name in ("min_th", "max_th", "limit"))
    return f"red limit {limit} min {low} max {high} {_average(values, link)}"


def _choke(setting: Setting, link: Link) -> str:
    values = dict(setting.values)
    thresholds = f"min {values['min_th']:.0f} max {values['max_th']:.0f}"
    return f"choke limit {values['limit']:.0f} {thresholds} {_average(values, link)}"


def _sfq(setting: Setting, _link: Link) -> str:
    return f"sfq limit {dict(setting.values)['limit']:.0f} flows 1024 divisor 1024 perturb 10"


_QDISCS: Mapping[str, Callable[[Setting, Link], str]] = {
    "fq_codel": _codel,
    "codel": _codel,
    "fq_pie": _pie,
    "pie": _pie,
    "dualpi2": _dualpi2,
    "red": _red,
    "choke": _choke,
    "sfq": _sfq,
    "droptail": lambda setting, _link: f"pfifo limit {dict(setting.values)['limit']:.0f}",
}

"""The campaign of RFC 7928, section by section: scenarios, varied parameters, measures."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files
from typing import Any

from fairdrop.scenario import Scenario
from fairdrop.study.observed import Observed

Value = Callable[[Observed], "float | None"]


@dataclass(frozen=True)
class Measure:
    """A number that a run gives. ``better`` is ``less``, ``more``, ``one`` (nearest to 1), or nothing."""

    name: str
    label: str
    unit: str
    better: str
    value: Value
    #: Whether it stands in the scorecard; the others are in the table of their section.
    score: bool = False


@dataclass(frozen=True)
class Trial:
    """A scenario of the guideline; its file is ``scenarios/NAME.toml``."""

    name: str
    #: Section of the RFC.
    section: str
    title: str
    measures: Sequence[Measure]
    #: Fields that are varied, with their values, in the profiles quick and full.
    quick: Mapping[str, Sequence[Any]] = field(default_factory=dict)
    full: Mapping[str, Sequence[Any]] | None = None
    #: Which values stand in the scorecard.
    shown: Mapping[str, Any] = field(default_factory=dict)
    #: Fields that the profile full changes.
    full_settings: Sequence[str] = ()

    @property
    def file(self) -> str:
        """Name of the scenario's file."""
        return f"{self.name}.toml"

    @property
    def text(self) -> str:
        """The scenario."""
        return files("fairdrop.characterize").joinpath("scenarios", self.file).read_text(encoding="utf-8")


@dataclass(frozen=True)
class Unanswered:
    """A question of the RFC that no run answers."""

    section: str
    what: str
    why: str


def _link(name: str, scale: float = 1.0) -> Value:
    def value(run: Observed) -> float | None:
        found = run.link[name]
        return None if found is None else scale * float(found)

    return value


def _of(group: str, name: str, scale: float = 1.0) -> Value:
    def value(run: Observed) -> float | None:
        found = run.groups[group][name]
        return None if found is None else scale * float(found)

    return value


def ratio(over: str, under: str, name: str = "goodput_bps") -> Value:
    """A measure per flow of one group / that of another; None where the other has none."""

    def value(run: Observed) -> float | None:
        one, other = (float(run.groups[group][name]) / int(run.groups[group]["flows"]) for group in (over, under))
        return one / other if other > 0 else None

    return value


def protection(group: str) -> Value:
    """Throughput of a group / its fair share: 1 is fair, 0 starved."""

    def value(run: Observed) -> float | None:
        found = run.groups[group]
        return float(found["throughput_bps"]) / (int(found["flows"]) * float(run.link["fair_share_bps"]))

    return value


def _beside_both(run: Observed) -> float | None:
    one = float(run.groups["both"]["goodput_bps"]) / run.groups["both"]["flows"]
    others = [float(run.groups[name]["goodput_bps"]) / run.groups[name]["flows"] for name in ("first", "second")]
    return one / (sum(others) / 2) if sum(others) > 0 else None


def _marked(run: Observed) -> float | None:
    arrivals = sum(group["arrivals"] for group in run.groups.values())
    return 100 * float(run.link["queue_marked"]) / arrivals if arrivals else None


def _used(score: bool = False) -> Measure:
    return Measure("utilisation", "link used", "%", "more", _link("link_utilisation", 100), score)


def _wait(score: bool = False) -> Measure:
    return Measure("wait_p99", "99th percentile of the wait", "ms", "less", _link("queue_sojourn_p99_s", 1e3), score)


def _mean_wait() -> Measure:
    return Measure("wait_mean", "mean wait", "ms", "less", _link("queue_sojourn_mean_s", 1e3))


def _dropped(score: bool = False) -> Measure:
    return Measure("dropped", "packets dropped", "%", "less", _link("queue_drop_fraction", 100), score)


def _fct(group: str, what: str, score: bool = False) -> Measure:
    return Measure(f"{group}_fct", what, "s", "less", _of(group, "fct_mean_s"), score)


def _video() -> Measure:
    return Measure("video_dropped", "dropped of bursts of 40", "%", "less", _of("video", "drop_fraction", 100), True)


def _web_and_udp(score: bool = False) -> tuple[Measure, Measure]:
    wait = _of("cbr", "sojourn_p99_s", 1e3)
    return (
        _fct("web", "completion of 100 packets", score),
        Measure("cbr_wait_p99", "99th percentile of UDP's wait", "ms", "less", wait),
    )


_LEVELS = [22, 49, 68]
_BURSTS, _BURST = {"groups.video.burst_packets": ["10p", "40p", "160p"]}, {"groups.video.burst_packets": "40p"}
_TRIALS = (
    Trial(
        "2.4-synchronisation", "2.4", "Loss synchronisation",
        (
            Measure("together", "back-offs in the same 100 ms / if flows were independent", "", "one",
                    _of("tcp", "loss_synchronisation"), True),
            _used(), _wait(),
        ),
        full_settings=("duration=300s",),
    ),
    Trial(
        "4.4-packet-sizes", "4.4", "Packet sizes",
        (
            Measure("small_over_large", "throughput of 250 B / of 1000 B packets", "", "one",
                    ratio("small", "large", "throughput_bps"), True),
            _wait(), _used(),
        ),
        full_settings=("duration=200s",),
    ),
    Trial(
        "4.5-ecn", "4.5", "ECN",
        (
            Measure("dropped", "packets dropped", "%", "less", _link("queue_drop_fraction", 100), True),
            Measure("marked", "packets marked", "%", "", _marked), _wait(), _used(),
        ),
        quick={"groups.tcp.ecn": [True, False]}, shown={"groups.tcp.ecn": True}, full_settings=("duration=300s",),
    ),
    Trial(
        "5.1.1-same-window", "5.1.1", "TCP-friendly sender", (_used(True), _wait(), _mean_wait(), _dropped()),
        full_settings=("duration=300s",),
    ),
    Trial(
        "5.1.2-other-windows", "5.1.2", "Other initial windows",
        (_fct("short", "completion of 50 packets beside bulk", True), _used(), _wait()),
        quick={"groups.short.initial_window": ["3p", "10p"]}, shown={"groups.short.initial_window": "10p"},
        full_settings=("duration=300s",),
    ),
    Trial(
        "5.2-aggressive", "5.2", "Aggressive sender", (_used(), _wait(True), _mean_wait(), _dropped()),
        full_settings=("duration=300s",),
    ),
    Trial(
        "5.2-beside", "5.2", "CUBIC beside NewReno",
        (
            Measure("cubic_over_newreno", "goodput of CUBIC / of NewReno", "", "one", ratio("cubic", "newreno"), True),
            _used(), _wait(),
        ),
        full_settings=("duration=300s",),
    ),
    Trial(
        "5.3-unresponsive", "5.3", "Unresponsive sender",
        (
            Measure("protection", "TCP beside UDP / its fair share", "", "one", protection("tcp"), True),
            Measure("udp_share", "UDP's share of the link", "%", "less", _of("udp", "share", 100)),
            _used(), _wait(),
        ),
        full={"groups.udp.rate": ["6mbit", "12mbit", "24mbit", "48mbit", "96mbit"]},
        shown={"groups.udp.rate": "48mbit"}, full_settings=("duration=200s",),
    ),
    Trial(
        "5.4-background", "5.4", "Less than best effort",
        (
            Measure("ledbat_share", "LEDBAT's share beside NewReno", "%", "less", _of("ledbat", "share", 100), True),
            _used(), _wait(),
        ),
        full_settings=("duration=300s",),
    ),
    Trial(
        "6-round-trips", "6", "Round-trip time fairness",
        (
            Measure("two_over_one", "goodput of the other / of 100 ms", "", "one", ratio("two", "one"), True),
            Measure("one_dropped", "dropped at 100 ms", "%", "less", _of("one", "drop_fraction", 100)),
            Measure("two_dropped", "dropped at the other", "%", "less", _of("two", "drop_fraction", 100)),
        ),
        quick={"groups.two.access_delay": ["5ms", "75ms"]},
        full={"groups.two.access_delay": ["1.25ms", "2.5ms", "5ms", "12.5ms", "25ms", "50ms", "75ms", "140ms"]},
        shown={"groups.two.access_delay": "5ms"}, full_settings=("duration=300s",),
    ),
    Trial("7.2-web", "7.2", "Bursts, case I: web and UDP", (*_web_and_udp(True), _dropped(True)),
          full_settings=("duration=300s",)),
    Trial("7.2-web-bulk", "7.2", "Bursts, case II: web, UDP and a bulk transfer", (*_web_and_udp(True), _used()),
          full_settings=("duration=300s",)),
    Trial(
        "7.2-web-video", "7.2", "Bursts, case III: web, video and UDP", (_video(), *_web_and_udp()),
        full=_BURSTS, shown=_BURST, full_settings=("duration=300s",),
    ),
    Trial(
        "7.2-bursts", "7.2", "Bursts, case IV: web, video, UDP and a bulk transfer",
        (_video(), *_web_and_udp(), _used()), full=_BURSTS, shown=_BURST, full_settings=("duration=300s",),
    ),
    Trial(
        "8.2-level", "8.2.2-4", "Level of congestion", (_used(), _wait(True), _mean_wait(), _dropped()),
        quick={"groups.tcp.count": _LEVELS}, shown={"groups.tcp.count": 68}, full_settings=("duration=300s",),
    ),
    Trial("8.2.5-varying-level", "8.2.5", "Varying congestion level", (_used(), _wait(True), _mean_wait(), _dropped())),
    Trial("8.2.6-slow-capacity", "8.2.6", "Capacity that changes every 20 s",
          (_used(), _wait(True), _mean_wait(), _dropped())),
    Trial("8.2.6-fast-capacity", "8.2.6", "Capacity that changes every 100 ms",
          (_used(True), _wait(), _mean_wait(), _dropped())),
    Trial(
        "9.1-mix", "9.1", "Traffic mix",
        (
            Measure("voice_wait_p99", "99th percentile of voice's wait", "ms", "less",
                    _of("voice", "sojourn_p99_s", 1e3), True),
            Measure("voice_dropped", "voice dropped", "%", "less", _of("voice", "drop_fraction", 100)),
            _fct("web", "completion of 100 packets"), _used(),
        ),
        full_settings=("duration=300s",),
    ),
    Trial(
        "9.2-both-ways", "9.2", "Bidirectional traffic",
        (_used(True), _wait(), _fct("short", "completion of two packets and a handshake")),
        full_settings=("duration=300s",),
    ),
    Trial(
        "10-two-queues", "10", "Two queues in a row",
        (
            Measure("both_over_one", "goodput over both / over one", "", "one", _beside_both, True),
            _used(), _wait(),
        ),
        full={"chain.queues": ['["queue", "queue"]', '["queue", "droptail"]', '["queue", "fq_codel"]']},
        shown={"chain.queues": '["queue", "queue"]'}, full_settings=("duration=300s",),
    ),
)  # fmt: skip
#: Section 8.3, whose points are not those of a grid.
SENSITIVITY = Trial(
    "8.3-parameters", "8.3", "Parameter sensitivity",
    (_wait(), Measure("protection", "TCP beside UDP / its fair share", "", "one", protection("tcp")), _used()),
)  # fmt: skip

UNANSWERED = (
    Unanswered("3.3", "GAIN 10 of LEDBAT", "RFC 6817 allows 1 at most, which is what runs"),
    Unanswered("4.3.2", "Deployment comparison", "not simulated: `make bench` measures time, instructions and memory"),
    Unanswered(
        "4.6", "Any AQM under any scheduler",
        "disciplines do not nest: a table has CoDel, PIE, CHOKe and DropTail alone and under the schedulers that "
        "have them (FQ-CoDel, FQ-PIE, CHOKe per class; DRR, FQ, SFQ); DualPI2 is the other combination",
    ),
    Unanswered("8.2.6", "Realistic traces of capacity", "none is bundled; `trace` of a link takes one"),
    Unanswered("8.3", "Stability analysis", "simulation shows sensitivity, not stability of a control law"),
    Unanswered("9.1", "Adaptive video", "no such source: video over TCP writes at a constant rate"),
    Unanswered(
        "9.2", "Loss of SYN, ACK and DNS packets apart",
        "causes of drops are by flow, not by kind of packet; the completion of two packets shows lost handshakes",
    ),
    Unanswered("11", "Implementation cost", "not simulated, as 4.3.2"),
    Unanswered("12", "Operator control", "a judgement: `fairdrop list NAME` has the parameters, 8.3 what they do"),
)  # fmt: skip


@cache
def trials() -> Mapping[str, Trial]:
    """Every trial by name, in the order of the RFC; sensitivity (8.3) is apart."""
    return {trial.name: trial for trial in _TRIALS}


def scenario_of(trial: Trial, full: bool) -> Scenario:
    """The scenario of a trial, as a profile runs it; its discipline is exchanged."""
    return Scenario(trial.text, trial.file, trial.full_settings if full else ())

"""Measures, models and predicates of RFC 2416, for ``fairdrop reproduce --papers``.

Times are those at the link of 100 Mb/s beside the source; packets count from 1, as in the text.
"""

from bisect import bisect_left
from itertools import accumulate
from math import inf
from statistics import median

from fairdrop.reproduce.judge.parts import Part, outcome
from fairdrop.reproduce.measure.data import Row, Sample, paired


def _acks(run):
    """When each ACK reached the source, and the packet that it covers."""
    events = run["trace"]["in"]
    rows = zip(events["time_ns"], events["event"], events["seq"], strict=True)
    return [(time / 1e9, seq) for time, event, seq in rows if event == "depart"]


def _sent(run):
    """When the source sent each packet."""
    events = run["trace"]["out"]
    rows = zip(events["time_ns"], events["event"], events["seq"], strict=True)
    return [(time / 1e9, seq + 1) for time, event, seq in rows if event == "arrive"]


def _resent(run):
    """The first packet that was sent again: when, and which."""
    highest = 0
    for time, packet in _sent(run):
        if packet <= highest:
            return time, packet
        highest = packet
    raise ValueError("no packet was sent again")


def _highest(run, until):
    return max(packet for time, packet in _sent(run) if time <= until)


def ack_times(run, acks):
    """When each of the first ACKs reached the source, s."""
    return [(number, time) for number, (time, _) in enumerate(_acks(run)[:acks], start=1)]


def ack_covers(run, acks):
    """The packet that each of them covers."""
    return [(number, seq) for number, (_, seq) in enumerate(_acks(run)[:acks], start=1)]


def sent_by_ack(run, acks):
    """The highest packet that had been sent as each of them had been answered."""
    return [(number, _highest(run, time)) for number, (time, _) in enumerate(_acks(run)[:acks], start=1)]


def first_resent(run):
    """The first packet that was sent again."""
    return _resent(run)[1]


def first_resent_at(run):
    """When that was, s."""
    return _resent(run)[0]


def covered_when_resent(run):
    """The packet up to which all had been covered by then."""
    return max(seq for time, seq in _acks(run) if time <= _resent(run)[0])


def sent_when_resent(run):
    """The highest packet that had been sent by then."""
    return _highest(run, _resent(run)[0])


def acknowledged(run, packets):
    """When each packet was first covered by an ACK."""
    found = _acks(run)
    covered = list(accumulate((seq for _, seq in found), max))
    times = [time for time, _ in found]
    return [(packet, times[bisect_left(covered, packet)]) for packet in range(1, packets + 1)]


def by_hand(definition, packet_bytes, lone_packets, acks):
    """Arrivals of ACKs, from rates and delays: the first packets go alone, then the modem is never idle."""
    data, ack = (sum(8 * size / rate for rate in (100e6, 1.5e6, 9600)) for size in (packet_bytes, 40))
    round_trip, step = data + ack + 2 * (0.025 + 0.150), 8 * packet_bytes / 9600
    for number in range(1, acks + 1):
        time = min(number, lone_packets) * round_trip + max(number - lone_packets, 0) * step
        yield Row("by hand", {"ack": number}, "time", (time,), exact=True)


def lead(definition, packet_bytes, rate_bps, shift_s):
    """What three packets take over the modem, and what the shift is longer than that."""
    three = 3 * 8 * packet_bytes / rate_bps
    yield Row("by hand", {}, "three", (three,), exact=True)
    yield Row("by hand", {}, "lead", (shift_s - three,), exact=True)


def as_printed(data, arguments):
    """Every printed value of the measures is met, to ``within``, ``but`` for these ACKs."""
    measures = arguments["measure"] if isinstance(arguments["measure"], list) else [arguments["measure"]]
    scheme, within = arguments["scheme"], float(arguments["within"])
    points = [
        point
        for point in data.published
        if point.measure in measures and point.scheme == scheme and point.at.get("ack") not in arguments.get("but", ())
    ]
    rows = [(point, data.select(point.measure, scheme, point.at)[0]) for point in points]
    return outcome([Part(row.sample, p.value - within, p.value + within, point=row.point) for p, row in rows])


def _matched(data, arguments):
    """What two schemes do with each packet, the first with one that is ``packets`` before; else at the same place."""
    less, more = arguments["schemes"]
    for row in data.select(arguments["measure"], more, arguments.get("at")):
        place = dict(row.at)
        if "packet" in place:
            place["packet"] -= int(arguments.get("packets", 0))
        yield from ((other, row) for other in data.select(row.measure, less) if other.at == place)


def apart(data, arguments):
    """The second scheme has more than the first, by ``low`` to ``high``, everywhere."""
    pairs = _matched(data, arguments)
    return outcome([Part(_gap(less, more), *_bounds(arguments), point=more.point) for less, more in pairs])


def typical(data, arguments):
    """The median over packets of what the second scheme has more is in ``low`` to ``high``, for each TCP."""
    gaps = {}
    for less, more in _matched(data, arguments):
        gaps.setdefault(more.at["tcp"], []).append(_gap(less, more))
    parts = []
    for tcp, found in gaps.items():
        values = tuple(median(seed) for seed in zip(*(gap.values for gap in found), strict=True))
        parts.append(Part(Sample(values, found[0].error), *_bounds(arguments), point=tcp))
    return outcome(parts)


def _bounds(arguments):
    return float(arguments.get("low", -inf)), float(arguments.get("high", inf))


def _gap(less, more):
    return paired(more, less, lambda a, b: a - b)


MEASURES = {
    "ack_times": ack_times,
    "ack_covers": ack_covers,
    "sent_by_ack": sent_by_ack,
    "first_resent": first_resent,
    "first_resent_at": first_resent_at,
    "covered_when_resent": covered_when_resent,
    "sent_when_resent": sent_when_resent,
    "acknowledged": acknowledged,
}
MODELS = {"by_hand": by_hand, "lead": lead}
# The predicate, the fields that it needs, and further ones that it takes.
PREDICATES = {
    "as_printed": (as_printed, {"measure", "scheme", "within"}, {"but"}),
    "apart": (apart, {"measure", "schemes"}, {"at", "packets", "low", "high"}),
    "typical": (typical, {"measure", "schemes"}, {"at", "packets", "low", "high"}),
}

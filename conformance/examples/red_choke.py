"""DropTail, RED and basic CHOKe, written from conformance/README.md alone and without the library.

An example of a program that `fairdrop conformance check` can check:

    fairdrop conformance check --discipline droptail,red,choke -- python3 conformance/examples/red_choke.py

With the word `ring` as an argument it draws candidates from the random numbers themselves, as the library does, and
otherwise takes the places that the vectors give (`picks`).
"""

import json
import sys
from math import inf, log, log1p

FREE = None


class Packet:
    def __init__(self, event):
        self.id, self.flow, self.len = event["id"], event["flow"], event["len"]
        self.ecn = event.get("ecn", 0)


class Numbers:
    """The random numbers of one event."""

    def __init__(self, event):
        self.streams = {name: list(numbers) for name, numbers in event.get("random", {}).items()}
        self.used = {}

    def left(self, stream):
        return bool(self.streams.get(stream))

    def bits(self, stream):
        self.used[stream] = self.used.get(stream, 0) + 1
        # A number that is not there: a mistake, which the count shows.
        return int(self.streams[stream].pop(0), 16) if self.left(stream) else 0

    def unit(self, stream):
        return (self.bits(stream) >> 11) / 2**53

    def below(self, bound, stream):
        wide = self.bits(stream) * bound
        while wide % 2**64 < 2**64 % bound and self.left(stream):
            wide = self.bits(stream) * bound
        return wide >> 64


class Ring:
    """A FIFO whose removed packets leave holes."""

    def __init__(self, limit):
        self.slots = []
        self.capacity = 8
        while self.capacity < 2 * limit + 8:
            self.capacity *= 2

    def waiting(self):
        return [packet for packet in self.slots if packet is not FREE]

    def push(self, packet):
        if len(self.slots) == self.capacity:
            self.slots = self.waiting()
        self.slots.append(packet)

    def pop(self):
        packet = self.slots.pop(0) if self.slots else None
        self.trim()
        return packet

    def remove(self, packet):
        self.slots[self.slots.index(packet)] = FREE
        self.trim()

    def trim(self):
        while self.slots and self.slots[0] is FREE:
            self.slots.pop(0)
        while self.slots and self.slots[-1] is FREE:
            self.slots.pop()

    def draw(self, numbers):
        if len(self.slots) > 2 * len(self.waiting()) + 8:
            self.slots = self.waiting()
        while True:
            packet = self.slots[numbers.below(len(self.slots), "candidate")]
            if packet is not FREE or not numbers.left("candidate"):
                return packet


class Red:
    """The average, its thresholds and the random draw."""

    def __init__(self, params, link_rate):
        self.min_th, self.max_th = params["min_th"], params["max_th"]
        self.max_p, self.w_q = params["max_p"], params["w_q"]
        self.switches = {name for name, value in params.items() if value is True}
        self.mean_size = params["mean_packet_size"]
        self.packet_time = max(1, self.mean_size * 8_000_000_000 // link_rate)
        self.avg, self.count, self.idle_since = 0.0, -1, 0
        self.counts_down, self.bound, self.gap = False, 0.0, 0

    def update(self, waiting, now):
        if waiting == 0 and self.idle_since is not None:
            missed = (now - self.idle_since) // self.packet_time
            self.avg *= power(1.0 - self.w_q, missed)
            self.idle_since = None
            if "idle_decay_only" in self.switches:
                return
        self.avg = (1.0 - self.w_q) * self.avg + self.w_q * waiting

    def verdict(self, waiting, length, numbers):
        """Why RED drops an arrival, or None."""
        if self.avg < self.min_th or ("ns2_compat" in self.switches and waiting <= 1):
            self.count = -1
            return None
        if self.avg < self.max_th:
            p = self.max_p * (self.avg - self.min_th) / (self.max_th - self.min_th)
        elif "gentle" in self.switches and self.avg < 2.0 * self.max_th:
            p = self.max_p + (1.0 - self.max_p) * (self.avg - self.max_th) / self.max_th
        else:
            # ns-2's free pass is used up by the arrival that passes, and by no drop.
            self.count = -1 if "ns2_compat" in self.switches and self.count < 0 else 0
            return "red_forced"
        if "ns2_compat" in self.switches and self.count < 0:
            self.count = 1
            return None
        self.count += 1
        if "byte_mode" in self.switches:
            p *= length / self.mean_size
        if self.is_early(min(1.0, self.spaced(p)), numbers):
            self.count = 0
            return "red_early"
        return None

    def is_early(self, p, numbers):
        if not self.counts_down:
            return numbers.unit("early_drop") < p
        if self.bound == 0.0 or p > self.bound:
            self.bound = next(0.5**k for k in range(20, -1, -1) if 0.5**k >= p)
            rest = 1.0 - numbers.unit("count_down")
            self.gap = int(log(rest) / log1p(-self.bound)) if self.bound < 1.0 else 0
        if self.gap > 0:
            self.gap -= 1
            return False
        bound, self.bound = self.bound, 0.0
        return numbers.unit("count_down") * bound < p

    def spaced(self, p):
        progress = self.count * p
        if "independent" in self.switches:
            return p
        if "wait" in self.switches:
            return 0.0 if progress < 1.0 else p / (2.0 - progress) if progress < 2.0 else inf
        return p / (1.0 - progress) if progress < 1.0 else inf


def power(base, exponent):
    """By squaring, lowest bit first: the order of the products decides the last bits."""
    result = 1.0
    while exponent:
        if exponent % 2:
            result *= base
        base *= base
        exponent //= 2
    return result


class Discipline:
    def __init__(self, header, by_ring):
        params = {(param["owner"], param["name"]): param["value"] for param in header["params"]}
        self.limit = header["limit"]
        self.ring = Ring(self.limit)
        self.by_ring = by_ring
        red = {name: value for (owner, name), value in params.items() if owner == "red"}
        self.red = Red(red, header["link_rate_bps"]) if red else None
        self.candidates = params.get(("choke", "candidates"), 0)
        self.modes = header.get("burst_mode", [])
        if self.red:
            self.red.counts_down = "count_down" in self.modes
        # The time of the burst that may go on, and the packets that waited before it.
        self.burst, self.older = None, []

    def arrive(self, event, numbers, answer):
        packet = Packet(event)
        waiting = len(self.ring.waiting())
        cause = None
        starts = self.burst != event["time_ns"]
        if starts:
            self.burst, self.older = event["time_ns"], self.ring.waiting()
        if self.red:
            if starts or "average_once" not in self.modes:
                self.red.update(waiting, event["time_ns"])
            if self.red.avg >= self.red.min_th and self.match(packet, event, numbers, answer):
                answer["dropped"].append([packet.id, "match_arriving"])
                return
            cause = self.red.verdict(len(self.ring.waiting()), packet.len, numbers)
            if cause and not ("ecn" in self.red.switches and packet.ecn):
                answer["dropped"].append([packet.id, cause])
                return
        if waiting >= self.limit:
            answer["dropped"].append([packet.id, "overflow"])
            if self.red and self.red.count > 0:
                self.red.count = 0
            return
        if cause:
            answer["marked"].append([packet.id, cause])
        self.ring.push(packet)

    def match(self, packet, event, numbers, answer):
        """Drops the candidates that are of the arrival's flow; whether there were any."""
        drawn = self.draw(event, numbers)
        missing = min(self.candidates, len(self.drawable())) - len(drawn)
        # A packet that it wants and that was not drawn: a mistake, which the list shows.
        answer["compared"] = [candidate.id for candidate in drawn] + [-1] * missing
        matched = [candidate for candidate in drawn if candidate.flow == packet.flow]
        for candidate in matched:
            self.ring.remove(candidate)
            answer["dropped"].append([candidate.id, "match_queued"])
        return bool(matched)

    def drawable(self):
        """The packets that a candidate may be."""
        waiting = self.ring.waiting()
        return [packet for packet in waiting if packet in self.older] if "snapshot" in self.modes else waiting

    def draw(self, event, numbers):
        waiting = self.drawable()
        if not waiting or self.candidates == 0:
            return []
        if self.candidates > 1 and len(waiting) <= self.candidates:
            return waiting
        if not self.by_ring:
            return [waiting[rank] for rank in event.get("picks", [])[: self.candidates]]
        drawn = []
        while len(drawn) < self.candidates:
            candidate = self.ring.draw(numbers)
            if candidate is not FREE and candidate not in drawn:
                drawn.append(candidate)
            elif not numbers.left("candidate"):
                break
        return drawn

    def dequeue(self, event, answer):
        self.burst = None
        packet = self.ring.pop()
        if packet is not None:
            answer["departed"] = packet.id
        elif self.red and self.red.idle_since is None:
            self.red.idle_since = event["time_ns"]

    def play(self, event):
        numbers = Numbers(event)
        answer = {"dropped": [], "marked": [], "departed": None, "compared": []}
        if event["type"] == "enqueue":
            self.arrive(event, numbers, answer)
        elif event["type"] == "dequeue":
            self.dequeue(event, answer)
        waiting = self.ring.waiting()
        answer["backlog"] = [len(waiting), sum(packet.len for packet in waiting)]
        answer["used"] = {name: numbers.used.get(name, 0) for name in (["candidate"] if self.by_ring else [])}
        if self.red:
            answer["used"] |= {name: numbers.used.get(name, 0) for name in ("early_drop", "count_down")}
            answer["internals"] = {"avg": self.red.avg}
        return answer


def declined(header, by_ring):
    """What of this vector is not here, or None."""
    if by_ring and "burst_mode" in header and header["discipline"] == "choke":
        return "no ring of bursts"
    if header["discipline"] not in ("droptail", "red", "choke"):
        return f"no {header['discipline']}"
    if any(param["name"] == "linux" and param["value"] != "none" for param in header["params"]):
        return "no linux"
    values = {param["name"]: param["value"] for param in header["params"] if param["owner"] == "choke"}
    basic = {
        "schedule": "fixed",
        "draw": "uniform",
        "replacement": False,
        "sampling": "packet",
        "average_in": "packets",
        "order": "match_first",
        "count_on_match": False,
    }
    for name, value in values.items():
        if value != basic.get(name, value):
            return f"no {name} = {value}"
    return None


def main():
    header = json.loads(sys.stdin.readline())
    by_ring = "ring" in sys.argv[1:]
    reason = declined(header, by_ring)
    if reason:
        print(json.dumps({"unsupported": reason}))
        return
    discipline = Discipline(header, by_ring)
    for line in sys.stdin:
        print(json.dumps(discipline.play(json.loads(line))), flush=True)


if __name__ == "__main__":
    main()

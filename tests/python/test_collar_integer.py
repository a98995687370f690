"""COLLAR in integers can be written from docs/reference/disciplines/collar-integer.md alone, as this is, line by line.

It decides as the conformance vectors do, and every internal value is the same number.
"""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest

from fairdrop.conformance import FOLDER, MANIFEST, read_vectors

CASES = [
    name.removeprefix("collar_integer/")
    for name in json.loads((FOLDER / MANIFEST).read_text(encoding="utf-8"))["crc32"]
    if name.startswith("collar_integer/")
]
WORD = (1 << 64) - 1
T_UPDATE = 16_000_000
QUEUE = ("queue", "")


def siphash(byte: int) -> int:
    """SipHash-2-4 of one byte under a key of zeros (J.-P. Aumasson, D. J. Bernstein, 2012)."""
    v = [0x736F6D6570736575, 0x646F72616E646F6D, 0x6C7967656E657261, 0x7465646279746573]

    def left(x: int, bits: int) -> int:
        return ((x << bits) | (x >> (64 - bits))) & WORD

    def half(a: int, b: int, c: int, d: int, by: tuple[int, int]) -> None:
        v[a] = (v[a] + v[b]) & WORD
        v[b] = left(v[b], by[0]) ^ v[a]
        v[c] = (v[c] + v[d]) & WORD
        v[d] = left(v[d], by[1]) ^ v[c]

    def rounds(count: int) -> None:
        for _ in range(count):
            half(0, 1, 2, 3, (13, 16))
            v[0] = left(v[0], 32)
            half(2, 1, 0, 3, (17, 21))
            v[2] = left(v[2], 32)

    message = byte | 1 << 56
    v[3] ^= message
    rounds(2)
    v[0] ^= message
    v[2] ^= 0xFF
    rounds(4)
    return v[0] ^ v[1] ^ v[2] ^ v[3]


MASK, FIRST, SECOND = (siphash(purpose) | (purpose > 0) for purpose in range(3))


def id_of(flow: int) -> int:
    wide = (flow ^ MASK) * FIRST
    return max((((wide >> 64) ^ (wide & WORD)) * SECOND & WORD) >> 32, 1)


def clamp(x: int, low: int, high: int) -> int:
    return max(low, min(x, high))


def shift_to(x: int, bits: int) -> int:
    return max(0, x.bit_length() - bits)


def ratio(a: int, b: int) -> int:
    quotient = min((abs(a) << 16) // b, 1 << 20)
    return -quotient if a < 0 else quotient


def mean(sum16: int, sample: int) -> int:
    return sum16 - (sum16 >> 4) + sample


def first(sum16: int, sample: int) -> int:
    return 16 * sample if sum16 == 0 else mean(sum16, sample)


class Collar:
    """The decision; ``random`` gives the next 64 bits of a stream."""

    def __init__(self, limit: int, of: dict[str, float]) -> None:
        self.random: Callable[[str], int] = lambda _: 0
        self.buffer, self.ids, self.sets, self.ecn = limit, int(of["ids"]), int(of["sets"]), bool(of["ecn"])
        self.target, self.span = round(of["target"] * 1e9), round(of["span"] * 1e9)
        self.share = int(of["share"] * 65_536)
        self.per_span, self.loosest = (1 << 63) // self.span, max(1, self.share * 91_750 >> 16)
        self.memory, self.remembered = [0] * self.ids, 0
        self.table = [[(0, 0)] * 8 for _ in range(self.sets)]
        self.quick = self.steady = 1 << 47
        self.matches, self.weight, self.sent = 0, 1 << 31, 16
        self.size16 = self.pace16 = self.passed16 = self.turns16 = 0
        self.until = self.distance = self.last_sample = self.delay = self.old_delay = 0
        self.busy = self.pressed = False
        self.root, self.widened, self.next_update = 0, 1 << 16, T_UPDATE
        self.per_size = self.base = self.spared = 0
        self.phi, self.wide = 91_750, 65_536
        self.shares()

    def s(self) -> int:
        return min(self.quick, self.steady) >> 16

    def fair(self) -> int:
        return self.sent * (self.s() >> 7) >> 24

    def count(self, size: int) -> int:
        return size * (self.weight >> 15) >> 12

    def service(self) -> int:
        return min((self.pace16 >> 4) * (self.size16 >> 4) >> 16, (1 << 32) - 1)

    def shares(self) -> None:
        self.limit = max(1, self.fair() * self.share >> 16)
        self.knee = (1 << 17) - (self.s() * self.s() >> 46)
        self.knee2 = self.knee * (self.knee - 65_536) >> 16
        self.by_share = self.s() << 7
        self.loosen()

    def loosen(self) -> None:
        self.allowed, self.kept = self.limit * self.phi >> 16, self.limit * self.wide >> 16

    def updates(self, now: int) -> None:
        if now < self.next_update:
            return
        missed = (now - self.next_update) // T_UPDATE
        self.next_update += (missed + 1) * T_UPDATE
        service, aim = self.service(), self.target
        if service > 0:
            each, half = (service << 31) // self.s(), self.buffer * service >> 1
            aim = clamp(min(max(self.target, each), half), 1, (1 << 32) - 1)
        self.update(aim, self.delay - self.old_delay)
        self.old_delay, self.pressed = self.delay, False
        times = 0
        while times < min(missed, 16) and self.widened > 1 << 16:
            self.widen(aim, 0)
            times += 1
        left = missed - times
        if left > 0 and self.widened == 1 << 16:
            self.root = clamp(self.root + self.steps(aim, 0) * min(left, 65_535), 0, 1 << 39)
        if now - self.last_sample > T_UPDATE:
            self.distance, self.until = self.distance - self.until, 0
        slack = 91_750 if self.root == 0 else min(65_536 + 216_172_782_113_784 // self.root, 91_750)
        self.phi, self.wide = slack * self.widened >> 16, self.widened
        self.base = (self.root >> 20) * (self.root >> 20) >> 8
        self.spared = aim // (8 * service) if service > 0 else 0
        self.loosen()

    def update(self, aim: int, change: int) -> None:
        if self.widened == 1 << 16:
            self.root = clamp(self.root + self.steps(aim, change), 0, 1 << 39)
        if self.root == 0:
            self.widen(aim, change)

    def steps(self, aim: int, change: int) -> int:
        g = min(1 << 16, ((100_000_000 + self.target) << 16) // (100_000_000 + aim))
        return (((g * g >> 16) * 176 * (self.delay - aim)) >> 16) + ((g * 3518 * change) >> 16)

    def widen(self, aim: int, change: int) -> None:
        x, y, part = ratio(self.delay, aim), ratio(change, aim), min(ratio(aim, self.target), 1 << 16)
        inner = 1966 * ((1 << 16) - x - (x >> 2)) - 6554 * y
        step = max(((inner * part >> 16) * part) >> 16, -(1 << 31))
        whole = min((1 << 63) // (self.loosest * self.s()), 1 << 22)
        most = whole if self.pressed else min(whole, self.widened)
        self.widened = max(1 << 16, min(self.widened + (self.widened * step >> 32), most))

    def draw(self, stream: str, marks: bool, ecn: int) -> int:
        u = self.random(stream) >> 32
        return u * u >> 34 if marks and ecn == 1 else u

    def arrival(self, flow: int, size: int, ecn: int, n: int, now: int) -> tuple[str, str]:
        self.updates(now)
        size, of = min(size, 65_535), id_of(flow)
        places, low = self.table[of * self.sets >> 32], of & 0xFF_FFFF
        at = next((k for k, (known, count) in enumerate(places) if known == low and count > 0), None)
        if at is not None:
            places[at] = (low, min(places[at][1] + self.count(size), (1 << 40) - 1))
        if n < 2:
            return QUEUE
        capable = self.ecn and ecn != 0
        if at is not None:
            return self.judge_suspect(places[at][1], size, capable, ecn, n)
        return self.judge_other(of, size, capable, ecn) if self.base > 0 else QUEUE

    def judge_suspect(self, count: int, size: int, capable: bool, ecn: int, n: int) -> tuple[str, str]:
        hit = False
        if count > self.allowed:
            self.pressed = True
            if n >= self.spared:
                below, of = self.excess(count)
                marks = capable and below << 16 < of * 5243
                hit = self.draw("filter_coin", marks, ecn) * of >> 32 < below
                if hit and not marks:
                    return "drop", "filter"
        answer = self.base_of(count, size, capable, ecn)
        return ("mark", "filter") if answer == QUEUE and hit else answer

    def judge_other(self, of: int, size: int, capable: bool, ecn: int) -> tuple[str, str]:
        k, c = self.look((self.random("candidate") >> 32) * (self.ids // 32) >> 32, 1, of)
        b, rest = self.parts(size)
        marks = capable and self.base < 1 << 30
        fate = "mark" if marks else "drop"
        if b * k > 0 and (self.draw("filter_coin", marks, ecn) * self.s() >> 31) * c < b * k:
            return fate, "memory"
        if rest > 0 and self.draw("pie_coin", marks, ecn) < rest:
            return fate, "pie"
        return QUEUE

    def excess(self, count: int) -> tuple[int, int]:
        h = shift_to(self.allowed, 16)
        a, c = self.allowed >> h, count >> h
        if c << 16 < a * self.knee:
            d = max(0, c - a)
            return d * d >> 2, a * a * self.knee2 >> 18
        h = shift_to(count, 32)
        return (count >> h) - (self.kept >> h), count >> h

    def parts(self, size: int) -> tuple[int, int]:
        p = self.base * min(size * self.per_size >> 16, 1 << 16) >> 16
        b = min(p, self.by_share)
        return b, p - b

    def base_of(self, count: int, size: int, capable: bool, ecn: int) -> tuple[str, str]:
        b, rest = self.parts(size)
        if b + rest == 0:
            return QUEUE
        h = shift_to(self.limit, 16)
        limit, c = self.limit >> h, min(count, self.allowed) >> h
        marks = capable and self.base < 1 << 30
        u = self.draw("pie_coin", marks, ecn)
        hit = u < rest or (u - rest) * limit * limit < b * c * c
        return ("mark" if marks else "drop", "pie") if hit else QUEUE

    def look(self, block: int, blocks: int, of: int) -> tuple[int, int]:
        """How many of the ids in these blocks are this one, and how many there are."""
        k = self.memory[block * 32 : (block + blocks) * 32].count(of)
        if self.remembered >= self.ids:
            return k, 32 * blocks
        rounds, more = divmod(self.remembered, self.ids // 32)
        return k, sum(rounds + (at < more) for at in range(block, block + blocks))

    def departure(self, flow: int, size: int, wait: int, left: int, now: int) -> None:
        self.updates(now)
        size = min(size, 65_535)
        self.until -= size
        if self.until <= 0:
            self.sample(id_of(flow), size, wait, now)
        if left == 0:
            self.delay, self.busy = 0, False

    def sample(self, of: int, size: int, wait: int, now: int) -> None:
        bits = self.random("candidate")
        k, c = self.look(4 * ((bits >> 32) * (self.ids // 128) >> 32), 4, of)
        gap, passed = min(now - self.last_sample, (1 << 40) - 1), self.distance - self.until
        self.size16 = first(self.size16, size)
        if self.busy and passed > 0:
            self.pace16 = first(self.pace16, min((gap << 16) // passed, (1 << 36) - 1))
        g = min(gap, self.span)
        t, room = g * self.per_span >> 32, passed
        if not self.busy and self.pace16 >> 4 > 0:
            room = max(passed, (g << 16) // (self.pace16 >> 4))
        room = min(room, (1 << 31) - 1)
        self.busy, self.last_sample, self.delay = True, now, min(wait, (1 << 32) - 1)
        self.per_size = (1 << 36) // max(self.size16, 16)
        self.fade(room, t)
        self.matches = min(self.matches + k, 2032)
        self.quick = moved(self.quick, k, c, min(self.matches, 496))
        self.steady = moved(self.steady, k, c, self.matches)
        self.passed16 = mean(self.passed16, passed)
        self.turns16 = mean(self.turns16, t * self.ids >> 15)
        m = (self.passed16 << 16) // self.turns16 if self.turns16 > 0 else 0
        m = min(max(m, self.size16 >> 3), 1 << 30)
        self.distance = self.until = ((bits & 0xFFFF_FFFF) * m) >> 31
        if k > 0:
            self.enter(of)
        self.remember(of)
        self.shares()

    def fade(self, room: int, t: int) -> None:
        packets = min(room * self.per_size >> 16, (1 << 32) - 1)
        self.weight += self.weight * min(packets * self.s() >> 21, t) >> 31
        if self.weight >= 1 << 32:
            self.weight >>= 1
            self.sent >>= 1
            self.table = [[(known, count >> 1) for known, count in places] for places in self.table]
        self.sent = clamp(self.sent + self.count(room), 16, (1 << 39) - 1)

    def enter(self, of: int) -> None:
        places, low, assumed = self.table[of * self.sets >> 32], of & 0xFF_FFFF, max(1, self.fair() >> 1)
        if any(known == low and count > 0 for known, count in places):
            return
        least = min(range(8), key=lambda at: places[at][1])
        if places[least][1] < assumed:
            places[least] = (low, assumed)

    def remember(self, of: int) -> None:
        rounds, block = divmod(self.remembered, self.ids // 32)
        self.memory[block * 32 + rounds % 32] = of
        self.remembered += 1
        if self.remembered == 2 * self.ids:
            self.remembered = self.ids


def moved(average: int, k: int, c: int, m: int) -> int:
    s = average >> 16
    error = (k << 28) - (c * s >> 3)
    change = max(error >> ((16 + m).bit_length() - 1), -(1 << 27))
    return clamp(average + (s * change >> 12), 1 << 33, 1 << 47)


@pytest.fixture(scope="module")
def vectors():
    return {vector.header["case"]: vector for vector in read_vectors(FOLDER, ["collar_integer"])}


@pytest.mark.parametrize("case", CASES)
def test_the_page_decides_as_the_vectors_do(vectors, case):
    header, events = vectors[case].header, vectors[case].events
    collar = Collar(header["limit"], {one["name"]: one["value"] for one in header["params"]})
    waiting: list[tuple[int, dict]] = []
    for event in events:
        numbers = {name: [int(text, 16) for text in texts] for name, texts in event.get("random", {}).items()}
        collar.random = lambda stream, numbers=numbers: numbers[stream].pop(0)
        now, outcome = event["time_ns"], event["outcome"]
        if event["type"] == "enqueue":
            fate, cause = collar.arrival(event["flow"], event["len"], event.get("ecn", 0), len(waiting), now)
            if fate != "drop" and len(waiting) == header["limit"]:
                fate, cause = "drop", "overflow"
            if fate != "drop":
                waiting.append((now, event))
            dropped = [name for _, name in outcome.get("dropped", [])]
            assert dropped == ([cause] if fate == "drop" else []), event
            assert ("marked" in outcome) == (fate == "mark"), event
        elif waiting:
            arrived, packet = waiting.pop(0)
            assert outcome["departed"] == packet["id"]
            collar.departure(packet["flow"], packet["len"], now - arrived, len(waiting), now)
        assert not any(numbers.values()), f"numbers are left over at {event}"
        internals = {"root": collar.root / 2**40, "s": collar.s() / 2**31, "widened": collar.widened / 2**16}
        assert outcome["internals"] == internals, event


def test_there_are_vectors():
    assert len(CASES) >= 6

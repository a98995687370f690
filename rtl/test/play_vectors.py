"""Plays conformance vectors to a core under cocotb: decisions, candidates, averages and counters have to be equal."""

import json
import os
from collections import Counter, deque
from pathlib import Path

import cocotb
from bench import Bench
from cocotb.clock import Clock
from registers import NotInHardware, Shape, cells_of, choke_words, red_words

from experiments.short_ids.ids import short_id

# Of the average, in packets: a register has 16 bits after the point.
AVERAGE_TOLERANCE = 2.0**-15


def read(path):
    with path.open(encoding="utf-8") as lines:
        header = json.loads(next(lines))
        return header, [json.loads(line) for line in lines]


def params_of(header):
    params = {"red": {}, "choke_hardware": {}}
    for entry in header["params"]:
        params[entry["owner"]][entry["name"]] = entry["value"]
    return params


class Player:
    """One vector: packets by their places, and what is to be counted."""

    def __init__(self, bench, header, params):
        self.bench, self.params = bench, params
        self.choke = params["choke_hardware"] or None
        self.places, self.queue = {}, deque()
        self.lengths, self.expected = {}, Counter()
        self.one_average = header["discipline"] == "red" or self.choke["fifos"] == 1

    def class_of(self, event):
        return event.get("class", 0) % self.choke["fifos"] if self.choke else 0

    def id_of(self, event):
        """The id that a switch's parser gives the core."""
        return short_id(event["flow"], self.choke["id_bits"], self.choke["salt"]) if self.choke else event["flow"]

    async def arrival(self, event):
        bench, outcome, number = self.bench, event["outcome"], event["id"]
        cells = cells_of(event["len"], self.choke["cell_size"]) if self.choke else 1
        compared, action, cause, place, _ = await bench.arrive(
            event["time_ns"], self.id_of(event), event["len"], event.get("ecn", 0), self.class_of(event), cells
        )
        ids = [self.places[at] for at, _ in compared]
        dropped = [[self.places[at], "match_queued"] for at, hit in compared if hit]
        marked = [[number, cause]] if action == "mark" else []
        if action == "drop":
            dropped.append([number, cause])
        elif self.choke:
            self.places[place] = number
        else:
            self.queue.append(number)
        assert ids == outcome.get("compared", []), f"compared {ids}"
        assert sorted(dropped) == sorted(outcome.get("dropped", [])), f"dropped {dropped}"
        assert marked == outcome.get("marked", []), f"marked {marked}"
        self.expected["arrived"] += 1
        self.expected["drawn"] += len(ids)
        for _, why in dropped:
            self.expected[why] += 1
        for _, why in marked:
            self.expected["marked_early" if why == "red_early" else "marked_forced"] += 1

    async def departure(self, event):
        place = await self.bench.request(event["time_ns"])
        departed = None if place is None else self.places[place] if self.choke else self.queue.popleft()
        assert departed == event["outcome"].get("departed"), f"departed {departed}"
        self.expected["departed"] += departed is not None

    async def play(self, events):
        bench = self.bench
        for event in events:
            taken = event.get("random", {})
            for stream, name in (("early", "early_drop"), ("candidate", "candidate")):
                if stream in bench.numbers:
                    bench.numbers[stream] = [int(number, 16) for number in taken.get(name, [])]
            try:
                await (self.arrival if event["type"] == "enqueue" else self.departure)(event)
                assert not any(bench.numbers.values()), f"left over: {bench.numbers}"
                waiting = await bench.reading("waiting")
                assert waiting == event["outcome"]["backlog"][0], f"{waiting} wait"
                if self.one_average:
                    average = await bench.reading("average") / 65536
                    difference = abs(average - event["outcome"]["internals"]["avg"])
                    assert difference < AVERAGE_TOLERANCE, f"average {average}"
            except AssertionError as problem:
                raise AssertionError(f"event {event['event']} {event}: {problem}") from None
            # One number for each address: none of the vectors has a number that is refused.
            self.expected["tries"] += len(taken.get("candidate", []))
        for name in ("arrived", "departed", "overflow", "red_early", "red_forced", "match_arriving", "match_queued"):
            value = await bench.reading(name)
            assert value == self.expected[name], f"{name}: {value}, not {self.expected[name]}"
        for name in ("marked_early", "marked_forced") + (("tries", "drawn") if self.choke else ()):
            value = await bench.reading(name)
            assert value == self.expected[name], f"{name}: {value}, not {self.expected[name]}"


@cocotb.test()
async def vectors(dut):
    shape = Shape(**json.loads(os.environ["FAIRDROP_SHAPE"]))
    paths = [Path(path) for path in json.loads(os.environ["FAIRDROP_VECTORS"])]
    has_draws = hasattr(dut, "s_axis_candidate_tvalid")
    cocotb.start_soon(Clock(dut.clk, 10, "ns").start())
    bench = Bench(dut, ("early", "candidate") if has_draws else ("early",))
    await bench.reset()
    report = {}
    for path in paths:
        header, events = read(path)
        name = f"{header['discipline']}/{path.name.partition('.')[0]}"
        params = params_of(header)
        packet_time = max(1, params["red"]["mean_packet_size"] * 8 * 10**9 // header["link_rate_bps"])
        try:
            if header.get("burst_mode"):
                raise NotInHardware("burst_mode: packets arrive one by one at the core")
            if has_draws:
                words = choke_words(params, header["limit"], packet_time, shape)
            else:
                words = red_words(params, header["limit"], packet_time)
        except NotInHardware as reason:
            report[name] = f"declined: {reason}"
            continue
        await bench.configure(words)
        try:
            await Player(bench, header, params).play(events)
        except AssertionError as problem:
            raise AssertionError(f"{name}: {problem}") from None
        report[name] = f"{len(events)} events equal"
    Path(os.environ["FAIRDROP_REPORT"]).write_text(json.dumps(report), encoding="utf-8")


@cocotb.test()
async def registers(dut):
    """Every parameter is read as it was written; addresses without a register get SLVERR."""
    cocotb.start_soon(Clock(dut.clk, 10, "ns").start())
    bench = Bench(dut, ("early", "candidate") if hasattr(dut, "s_axis_candidate_tvalid") else ("early",))
    await bench.reset()
    values = {number: 0x9E3779B9 * (number + 1) & 0xFFFFFFFE for number in range(18)}
    for number, value in values.items():
        assert await bench.write(4 * number, value) == 0
    for number, value in values.items():
        assert await bench.read(4 * number) == (0, value)
    assert await bench.write(4 * 18, 1) == 2
    assert await bench.write(0x200, 1) == 2
    assert await bench.write(0, 1, strobe=3) == 2, "part of a word"
    assert await bench.read(0) == (0, values[0])
    assert (await bench.read(0x1FC))[0] == 2
    assert (await bench.read(0x200 + 4 * 20))[0] == 2

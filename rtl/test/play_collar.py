"""Plays conformance vectors of `collar_integer` to its core under cocotb: decisions and internals have to be equal."""

import json
import os
import sys
from collections import Counter, deque
from pathlib import Path

import cocotb
from bench import Bench
from cocotb.clock import Clock
from cocotb.triggers import FallingEdge, RisingEdge, Timer, with_timeout
from cocotb.utils import get_sim_time
from play_vectors import read

sys.path.append(str(Path(__file__).resolve().parents[2] / "tests" / "python"))

from test_collar_integer import id_of

CAUSES = ("overflow", "filter", "memory", "pie")
STREAMS = {"candidate": "candidate", "filter_coin": "filter", "pie_coin": "pie"}
STUCK = 50_000
CLOCK_NS = 10


class Collar(Bench):
    """The core with its parameters as ports."""

    def __init__(self, dut):
        super().__init__(dut, STREAMS.values())
        self.has_draws = False

    async def begin(self, header):
        of = {one["name"]: one["value"] for one in header["params"]}
        span = round(of["span"] * 1e9)
        share = int(of["share"] * 65_536)
        for name, value in {
            "buffer_limit": header["limit"],
            "target": round(of["target"] * 1e9),
            "span": span,
            "per_span": (1 << 63) // span,
            "share": share,
            "loosest": max(1, share * 91_750 >> 16),
            "ids": int(of["ids"]),
            "sets": int(of["sets"]),
            "ecn": int(of["ecn"]),
            "now_ns": 0,
            "s_axis_arrival_tvalid": 0,
            "s_axis_departure_tvalid": 0,
            "m_axis_decision_tready": 1,
            "rst": 1,
        }.items():
            self.put(name, value)
        await FallingEdge(self.dut.clk)
        await self.clock()
        self.put("rst", 0)
        await self.ready()

    async def clock(self):
        self.taken = set()
        for stream, numbers in self.numbers.items():
            self.put(f"s_axis_{stream}_tvalid", 1 if numbers else 0)
            self.put(f"s_axis_{stream}_tdata", numbers[0] if numbers else 0)
        await Timer(2, "ns")
        for stream, numbers in self.numbers.items():
            if numbers and self.get(f"s_axis_{stream}_tready"):
                numbers.pop(0)
        for stream in ("arrival", "departure"):
            if self.get(f"s_axis_{stream}_tvalid") and self.get(f"s_axis_{stream}_tready"):
                self.taken.add(stream)
        self.decision = self.get("m_axis_decision_tdata") if self.get("m_axis_decision_tvalid") else None
        await FallingEdge(self.dut.clk)
        self.clocks = int(get_sim_time("ns")) // CLOCK_NS

    async def ready(self):
        """Until the command before is done. Once it has its random numbers only that is waited for, not each clock."""
        await self.clock()
        while not self.get("s_axis_departure_tready"):
            if any(self.numbers.values()):
                await self.clock()
                continue
            await with_timeout(RisingEdge(self.dut.s_axis_departure_tready), STUCK * CLOCK_NS, "ns")
            await FallingEdge(self.dut.clk)
            self.clocks = int(get_sim_time("ns")) // CLOCK_NS

    async def give(self, stream, data):
        self.put(f"s_axis_{stream}_tdata", data)
        self.put(f"s_axis_{stream}_tvalid", 1)
        for _ in range(STUCK):
            await self.clock()
            if stream in self.taken:
                self.put(f"s_axis_{stream}_tvalid", 0)
                return
        raise AssertionError(f"{stream} is not taken")

    async def arrive(self, flow, length, ecn):
        """Action and cause, and the clocks that they took."""
        await self.give("arrival", id_of(flow) | min(length, 65_535) << 32 | ecn << 48)
        begin = self.clocks
        for _ in range(STUCK):
            await self.clock()
            if self.decision is not None:
                action = ("queue", "mark", "drop")[self.decision & 3]
                return action, CAUSES[self.decision >> 2], self.clocks - begin
        raise AssertionError("no decision")

    async def depart(self, flow, length, waited):
        await self.give("departure", id_of(flow) | min(length, 65_535) << 32 | min(waited, 0xFFFF_FFFF) << 64)
        begin = self.clocks
        await self.ready()
        return self.clocks - begin

    def internals(self):
        return {
            "root": self.get("root") / 2**40,
            "s": self.get("s") / 2**31,
            "widened": self.get("widened") / 2**16,
        }


async def play(bench, header, events):
    """One vector; returns the most clocks of a decision and of a departure."""
    waiting, counted, most = deque(), Counter(), Counter()
    for event in events:
        now, outcome = event["time_ns"], event["outcome"]
        for name, numbers in event.get("random", {}).items():
            bench.numbers[STREAMS[name]] += [int(text, 16) for text in numbers]
        try:
            if event["type"] == "enqueue":
                bench.put("now_ns", now)
                await bench.ready()
                action, cause, clocks = await bench.arrive(event["flow"], event["len"], event.get("ecn", 0))
                most["decision"] = max(most["decision"], clocks)
                await bench.ready()
                dropped = [name for _, name in outcome.get("dropped", [])]
                marked = [name for _, name in outcome.get("marked", [])]
                assert dropped == ([cause] if action == "drop" else []), f"{action} {cause}"
                assert marked == ([cause] if action == "mark" else []), f"{action} {cause}"
                counted[action, cause] += action != "queue"
                if action != "drop":
                    waiting.append((now, event))
            elif waiting:
                bench.put("now_ns", now)
                await bench.ready()
                arrived, packet = waiting.popleft()
                assert outcome["departed"] == packet["id"]
                clocks = await bench.depart(packet["flow"], packet["len"], now - arrived)
                most["departure"] = max(most["departure"], clocks)
            assert bench.get("waiting_packets") == len(waiting)
            assert not any(bench.numbers.values()), "numbers are left over"
            assert outcome["internals"] == bench.internals(), f"{bench.internals()}"
        except AssertionError as problem:
            raise AssertionError(f"event {event['event']} {event}: {problem}") from None
    return most


@cocotb.test()
async def vectors(dut):
    cocotb.start_soon(Clock(dut.clk, CLOCK_NS, "ns").start())
    bench, report = Collar(dut), {}
    for path in map(Path, json.loads(os.environ["FAIRDROP_VECTORS"])):
        header, events = read(path)
        name = f"{header['discipline']}/{path.name.partition('.')[0]}"
        await bench.begin(header)
        try:
            most = await play(bench, header, events)
        except AssertionError as problem:
            raise AssertionError(f"{name}: {problem}") from None
        report[name] = f"{len(events)} events equal, {dict(most)} clocks at most"
    Path(os.environ["FAIRDROP_REPORT"]).write_text(json.dumps(report), encoding="utf-8")

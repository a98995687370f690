"""The DRR core under cocotb, beside DRR written from the paper with Python's lists."""

import json
import os
import random
from collections import deque
from pathlib import Path

import cocotb
from bench import Bench
from cocotb.clock import Clock
from registers import cells_of

PACKETS = 3000


class Drr:
    """DRR (Shreedhar, Varghese 1996, section III) with a dynamic threshold (Choudhury, Hahne 1998)."""

    def __init__(self, limit, shift, quantum):
        self.limit, self.shift, self.quantum = limit, shift, quantum
        self.queues, self.deficit, self.round, self.granted, self.waiting = {}, {}, deque(), False, 0

    def arrive(self, flow, packet, length):
        room = self.limit - self.waiting
        queue = self.queues.setdefault(flow, deque())
        if room == 0 or len(queue) >= room << self.shift:
            return False
        if not queue:
            self.deficit[flow] = 0
            self.round.append(flow)
        queue.append((packet, length))
        self.waiting += 1
        return True

    def depart(self):
        while self.round:
            flow = self.round[0]
            if not self.granted:
                self.deficit[flow] += self.quantum
                self.granted = True
            packet, length = self.queues[flow][0]
            if length <= self.deficit[flow]:
                self.deficit[flow] -= length
                self.queues[flow].popleft()
                self.waiting -= 1
                if not self.queues[flow]:
                    self.round.popleft()
                    self.granted = False
                return packet
            self.round.rotate(-1)
            self.granted = False
        return None


@cocotb.test()
async def packets(dut):
    source = random.Random(int(os.environ["FAIRDROP_SEED"]))
    cocotb.start_soon(Clock(dut.clk, 10, "ns").start())
    bench = Bench(dut, ())
    dropped = departed = 0
    for limit, shift, quantum, flows, load in (
        (1024, 0, 1500, 200, 0.7),
        (20, 1, 1500, 5, 0.6),
        (60, 2, 600, 12, 0.5),
        (300, 3, 3000, 1000, 0.8),
    ):
        for name, value in (("limit", limit), ("threshold_shift", shift), ("quantum", quantum)):
            bench.put(name, value)
        await bench.reset()
        model, places = Drr(limit, shift, quantum), {}
        for number in range(PACKETS):
            if source.random() < load:
                flow, length = source.randrange(flows), source.randint(40, min(1500, quantum))
                _, action, _, place, _ = await bench.arrive(0, flow, length, 0, 0, cells_of(length, 0))
                assert (action == "queue") == model.arrive(flow, number, length), f"packet {number}"
                if action == "queue":
                    assert place not in places, f"packet {number}: entry {place} is given out twice"
                    places[place] = number
                dropped += action != "queue"
            else:
                place = await bench.request(0)
                sent = None if place is None else places.pop(place)
                assert sent == model.depart(), f"departure at {number}"
                departed += sent is not None
            assert bench.get("waiting_packets") == model.waiting
    assert dropped > 100 and departed > 1000, f"{dropped} dropped, {departed} departed: too few to show anything"
    Path(os.environ["FAIRDROP_REPORT"]).write_text(
        json.dumps({"dropped": dropped, "departed": departed}), encoding="utf-8"
    )

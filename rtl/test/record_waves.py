"""Records a match clock by clock under cocotb, for the timing diagram of docs/reference/hardware.md."""

import json
import os
from pathlib import Path

import cocotb
from bench import Bench
from cocotb.clock import Clock
from registers import Shape, choke_words

SIGNALS = ("m_axis_compared_tvalid", "m_axis_decision_tvalid")
PARAMS = {
    "red": {
        **dict.fromkeys(("gentle", "wait", "independent", "ecn", "byte_mode", "ns2_compat", "idle_decay_only"), False),
        **{"min_th": 1.0, "max_th": 9.0, "max_p": 0.125, "w_q": 1.0},
    },
    "choke_hardware": {
        **dict.fromkeys(("unoccupied_misses", "physical_length", "count_on_match", "mark_one_cell"), False),
        **{"addresses": "occupied", "marked": "reject", "mark_bit": "entry", "schedule": "fixed", "candidates": 1},
        **{"banks": 1, "fifos": 1, "cell_size": 0, "list_limit": 16, "quota": 0, "max_tries": 0, "regions": 3},
        "id_bits": 0,
        "replacement": True,
    },
}


class Recorder(Bench):
    """A bench that keeps the signals and the state of each clock."""

    def __init__(self, dut):
        super().__init__(dut, ("early", "candidate"))
        self.rows = []

    async def clock(self):
        row = {name: self.get(name) for name in SIGNALS}
        row["state"] = int(self.dut.core.state.value)
        numbers = len(self.numbers["candidate"])
        seen, given = await super().clock()
        row["arrival"] = "arrival" in seen
        row["number"] = len(self.numbers["candidate"]) < numbers
        self.rows.append(row)
        return seen, given


@cocotb.test()
async def match(dut):
    """Flow 3 waits twice; an arrival of flow 3 draws one of them."""
    states = json.loads(os.environ["FAIRDROP_VECTORS"])[0].split()
    cocotb.start_soon(Clock(dut.clk, 10, "ns").start())
    bench = Recorder(dut)
    await bench.reset()
    await bench.configure(choke_words(PARAMS, 10, 1_000_000, Shape()))
    for flow in (5, 3):
        bench.numbers["candidate"] = [0]
        bench.numbers["early"] = [(1 << 64) - 1]
        await bench.arrive(1000, flow, 1000, 0, 0, 1)
        for _ in range(12):
            await bench.clock()
    bench.rows.clear()
    bench.numbers["candidate"] = [0x9E3779B97F4A7C15]
    compared, action, cause, _, clocks = await bench.arrive(2000, 3, 1000, 0, 0, 1)
    assert compared == [(1, 1)] and action == "drop" and cause == "match_arriving"
    for _ in range(6):
        await bench.clock()
    for row in bench.rows:
        row["state"] = states[row["state"]]
    Path(os.environ["FAIRDROP_REPORT"]).write_text(json.dumps({"rows": bench.rows, "clocks": clocks}), encoding="utf-8")

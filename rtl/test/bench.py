"""Drives a core under cocotb: registers, arrivals, requests of the link, random numbers."""

from cocotb.triggers import FallingEdge, Timer
from registers import CAUSES, EVENTS, READINGS

# More clocks than any command takes: the core is stuck.
STUCK = 200_000


class Bench:
    """One core. Inputs change at the falling edge; outputs are read just before the rising one."""

    def __init__(self, dut, streams):
        self.dut = dut
        self.numbers = {stream: [] for stream in streams}
        self.has_draws = "candidate" in streams
        self.has_registers = bool(streams)
        self.clocks = 0

    def get(self, name):
        return int(getattr(self.dut, name).value)

    def put(self, name, value):
        getattr(self.dut, name).value = value

    async def clock(self):
        """One clock: numbers that the core takes are gone afterwards. Returns what it took and gave in this clock."""
        for stream, numbers in self.numbers.items():
            self.put(f"s_axis_{stream}_tvalid", 1 if numbers else 0)
            self.put(f"s_axis_{stream}_tdata", numbers[0] if numbers else 0)
        await Timer(2, "ns")
        seen = set()
        for stream, numbers in self.numbers.items():
            if numbers and self.get(f"s_axis_{stream}_tready"):
                numbers.pop(0)
        for stream in ("arrival", "request"):
            if self.get(f"s_axis_{stream}_tvalid") and self.get(f"s_axis_{stream}_tready"):
                seen.add(stream)
        given = {}
        for stream in ("compared", "decision", "departure"):
            if (stream != "compared" or self.has_draws) and self.get(f"m_axis_{stream}_tvalid"):
                given[stream] = self.get(f"m_axis_{stream}_tdata")
        await FallingEdge(self.dut.clk)
        self.clocks += 1
        return seen, given

    async def reset(self):
        for name in ("arrival_tdata", "arrival_tvalid", "request_tvalid"):
            self.put(f"s_axis_{name}", 0)
        for stream in ("decision", "departure"):
            self.put(f"m_axis_{stream}_tready", 1)
        if self.has_registers:
            for name in ("awaddr", "awvalid", "wdata", "wvalid", "araddr", "arvalid"):
                self.put(f"s_axil_{name}", 0)
            self.put("now_ns", 0)
            self.put("s_axil_bready", 1)
            self.put("s_axil_rready", 1)
            self.put("s_axil_wstrb", 15)
        if self.has_draws:
            self.put("m_axis_compared_tready", 1)
        self.put("rst", 1)
        await FallingEdge(self.dut.clk)
        await self.clock()
        self.put("rst", 0)

    async def write(self, address, value, strobe=15):
        """Writes a register; returns AXI's answer."""
        for name, to in (("awaddr", address), ("awvalid", 1), ("wdata", value), ("wvalid", 1), ("wstrb", strobe)):
            self.put(f"s_axil_{name}", to)
        await self.clock()
        self.put("s_axil_awvalid", 0)
        self.put("s_axil_wvalid", 0)
        assert self.get("s_axil_bvalid")
        answer = self.get("s_axil_bresp")
        await self.clock()
        return answer

    async def read(self, address):
        """Reads a register; returns AXI's answer and the value."""
        self.put("s_axil_araddr", address)
        self.put("s_axil_arvalid", 1)
        await self.clock()
        self.put("s_axil_arvalid", 0)
        assert self.get("s_axil_rvalid")
        answer = self.get("s_axil_rresp"), self.get("s_axil_rdata")
        await self.clock()
        return answer

    async def reading(self, name):
        answer, value = await self.read(READINGS + 4 * EVENTS.index(name))
        assert answer == 0
        return value

    async def configure(self, words):
        for number, value in sorted(words.items(), reverse=True):
            assert await self.write(4 * number, value) == 0
        # The map of a shared memory is cleared.
        for _ in range(STUCK):
            if self.get("s_axis_request_tready"):
                return
            await self.clock()
        raise AssertionError("the core does not become ready")

    async def command(self, stream, answer, data=0):
        """One command: what was compared, the answer, and the clocks until then."""
        if stream == "arrival":
            self.put("s_axis_arrival_tdata", data)
        self.put(f"s_axis_{stream}_tvalid", 1)
        compared, accepted, begin = [], False, 0
        for _ in range(STUCK):
            seen, given = await self.clock()
            if stream in seen:
                self.put(f"s_axis_{stream}_tvalid", 0)
                accepted, begin = True, self.clocks
            if "compared" in given:
                compared.append((given["compared"] & 0xFFFF, given["compared"] >> 16))
            if answer in given:
                assert accepted
                return compared, given[answer], self.clocks - begin
        raise AssertionError(f"no {answer} after {STUCK} clocks")

    async def arrive(self, now_ns, flow, length, ecn, fifo, cells):
        """Candidates with whether they are dropped, action, cause, place of the packet, clocks."""
        if self.has_registers:
            self.put("now_ns", now_ns)
        data = flow | length << 24 | ecn << 40 | fifo << 42 | cells << 48
        compared, decision, clocks = await self.command("arrival", "decision", data)
        action = ("queue", "mark", "drop")[decision & 3]
        return compared, action, CAUSES[decision >> 2 & 7], decision >> 16, clocks

    async def request(self, now_ns):
        """The place of the packet that leaves; None when none waits."""
        if self.has_registers:
            self.put("now_ns", now_ns)
        _, departure, _ = await self.command("request", "departure")
        return None if departure >> 16 else departure & 0xFFFF

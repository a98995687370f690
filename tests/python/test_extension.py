"""User-defined disciplines in Python: the same checks, audit, causes and determinism as those of the library."""

from __future__ import annotations

import json
import os
import pickle
import re
import shutil
import signal
import subprocess
import sys
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context

import pytest

import fairdrop
import pages
from fairdrop import Discipline, param
from fairdrop.cli.parser import build_parser
from fairdrop.extension import registry
from patience import PATIENCE, wait_for
from processes import Work, kept_build
from test_replay import packet, pcap

CONGESTED = """\
duration = 20
warm_up = 5
[dumbbell]
rate = "1mbit"
[queue]
discipline = "{name}"
limit = "20p"
[[groups]]
name = "tcp"
transport = "reno"
count = 4
[[groups]]
name = "udp"
transport = "cbr"
rate = "500kbit"
"""

FIFO = """\
from fairdrop import Discipline, param
from fairdrop.cli.parser import build_parser


class Mine(Discipline):
    \"\"\"A FIFO.\"\"\"

    room = param.packets(1e6, doc="Packets that it takes.")

    def enqueue(self, packet):
        if len(self.queue) >= min(self.limit, self.room):
            self.drop(packet, "overflow")
        else:
            self.queue.push(packet)
"""


@pytest.fixture(autouse=True)
def nothing_registered(monkeypatch):
    monkeypatch.setattr(registry, "_registered", {})


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "mine.py").write_text(FIFO)
    text = 'parts = ["mine.py"]\n' + CONGESTED.format(name="mine")
    (tmp_path / "own.toml").write_text(text)
    return tmp_path


def runs(scenario, name, seeds=1, **more):
    """All that was found, but for the discipline's name."""
    found = scenario.compare([name], seeds=seeds, **more).document["runs"]
    return json.loads(json.dumps(found).replace(f'"{name}"', '"this"'))


def scenario_of(class_, *settings):
    return fairdrop.Scenario(CONGESTED.format(name=registry.name_of(class_)), settings=settings, parts=[class_])


@pytest.fixture(scope="module")
def choke_of_the_page(root):
    text = (root / "docs" / "how-to" / "your-own-discipline.md").read_text(encoding="utf-8")
    (block,) = [block for block in pages.blocks(text) if block.file == "my_choke.py"]
    return block.body


def test_choke_of_the_page_is_the_librarys(choke_of_the_page, headline, tmp_path):
    """Under sixty lines, and bit for bit on the headline scenario."""
    assert len(choke_of_the_page.splitlines()) < 60
    (tmp_path / "my_choke.py").write_text(choke_of_the_page)
    fairdrop.register(tmp_path / "my_choke.py")
    scenario = fairdrop.load(headline)
    assert runs(scenario, "my_choke") == runs(scenario, "choke")


def test_a_fifo_is_droptail(folder):
    scenario = fairdrop.load(folder / "own.toml")
    assert runs(scenario, "mine", seeds=3) == runs(scenario, "droptail", seeds=3)
    assert runs(scenario, "mine")[0]["queues"][0]["drops"]["overflow"] > 0


def test_threads_and_processes_find_the_same(folder):
    scenario = fairdrop.load(folder / "own.toml")
    here = runs(scenario, "mine", seeds=4, threads=1)
    assert runs(scenario, "mine", seeds=4, threads=2) == here
    with ProcessPoolExecutor(2, mp_context=get_context("spawn")) as pool:
        assert list(pool.map(runs, [scenario] * 2, ["mine"] * 2, [4] * 2)) == [here, here]
    assert pickle.loads(pickle.dumps(scenario)).to_dict() == scenario.to_dict()


def test_parameters_are_checked_as_the_librarys(folder):
    scenario = fairdrop.load(folder / "own.toml", ["queue.mine.room=5"])
    assert scenario.to_dict()["queue"]["mine"] == {"room": 5.0}
    assert scenario.run().document["runs"][0]["queues"][0]["max_packets"] <= 5
    for setting, message in (
        ("queue.mine.room=-1", "queue.mine.room = -1 is not valid; valid: packets from 0 to 1000000"),
        ("queue.mine.rom=1", "valid: the fields room"),
        ("queue.discipline=minne", "minne"),
    ):
        with pytest.raises(fairdrop.ScenarioError, match=re.escape(message)):
            fairdrop.load(folder / "own.toml", [setting])


class Named(Discipline):
    """Has a parameter of each kind. More of it is not listed."""

    name = "named"
    source = "Here 2026"
    a = param.number(0.5, 0, 1, unit="1/s", doc="A number.")
    b = param.integer(3, 1, 9)
    c = param.packets(10)
    d = param.bytes_(1500, 1, 9000)
    e = param.seconds(0.005, 0, 1)
    f = param.switch(True)
    g = param.choice("up", ["up", "down"])

    def enqueue(self, packet):
        assert (self.a, self.b, self.c, self.d, self.e, self.f, self.g) == (0.25, 4, 12, 1000, 0.02, False, "down")
        assert self.limit == 20 and self.rate_bps == 1_000_000
        self.drop(packet, "filter")


def test_kinds_of_parameters():
    settings = ["a=0.25", "b=4", "c=12p", "d=1kB", "e=20ms", "f=false", "g=down"]
    scenario = scenario_of(Named, *(f"queue.named.{setting}" for setting in settings))
    drops = scenario.run().document["runs"][0]["queues"][0]["drops"]
    assert {cause for cause, packets in drops.items() if packets} == {"filter"}
    fairdrop.register(Named)
    (entry,) = [entry for entry in fairdrop.catalogue()["disciplines"] if entry["name"] == "named"]
    assert entry["source"] == "Here 2026"
    parameters = {one["name"]: (one["unit"], one["default"], one["valid"]) for one in entry["parameters"]}
    assert parameters["a"] == ("1/s", 0.5, "a number from 0 to 1")
    assert parameters["g"] == ("", "up", 'one of "up", "down"')


class Written(Discipline):
    """Has defaults and ranges with units."""

    target = param.seconds("200ms", "1ms", "1min", doc="A time.")
    room = param.packets("30p", high="1000p")
    size = param.bytes_("2kB", "1B", "1MiB")
    pace = param.rate("2mbit", "1kbit", "1gbit")

    def enqueue(self, packet):
        assert (self.target, self.room, self.size, self.pace) == (0.2, 30, 2000, 2_500_000)
        self.drop(packet, "filter")


def test_defaults_may_have_units():
    scenario_of(Written, "queue.written.pace=2.5mbit").run()
    fairdrop.register(Written)
    (entry,) = [entry for entry in fairdrop.catalogue()["disciplines"] if entry["name"] == "written"]
    parameters = {one["name"]: one["valid"] for one in entry["parameters"]}
    assert parameters["target"].startswith("a time from 0.001 to 60 s"), parameters
    with pytest.raises(fairdrop.ScenarioError, match=re.escape('queue.written.target = "2min" is not valid')):
        scenario_of(Written, "queue.written.target=2min")
    for make, text, message in (
        (param.seconds, "200m", '"200m" is not a time; valid: "200min" if minutes are meant'),
        (param.packets, "3 parcels", '"3 parcels" is not a number of packets; valid: 0 or more, for example "300p"'),
        (param.bytes_, "2kp", '"2kp" is not a size; valid: 0 bytes or more, for example "10kB"'),
        (param.rate, "fast", '"fast" is not a rate'),
    ):
        with pytest.raises(ValueError, match=re.escape(message)):
            make(text)


class Shares(Discipline):
    """Drops packets over their share, and those that waited longest."""

    causes = ("over_share", "oldest")
    seen = 0

    def enqueue(self, packet):
        self.seen += 1
        if self.seen % 70 == 0:
            return self.drop(packet, "over_share")
        if len(self.queue) >= self.limit:
            oldest = self.queue.pop()
            self.drop(oldest, "oldest" if self.seen % 2 else "overflow")
        self.queue.push(packet)


def test_causes_of_ones_own_are_counted(tmp_path):
    result = scenario_of(Shares).run(trace=tmp_path / "trace")
    (run,) = result.document["runs"]
    queue = run["queues"][0]
    drops = {cause: packets for cause, packets in queue["drops"].items() if packets}
    assert set(drops) == {"over_share", "oldest", "overflow"}
    assert sum(drops.values()) == queue["total"]["dropped"]["packets"]
    for rows in (run["groups"], run["flows"]):
        assert sum(row["drops"].get("over_share", 0) for row in rows) == drops["over_share"]
    recorded = {}
    for row in result.drops.rows():
        recorded[row["cause"]] = recorded.get(row["cause"], 0) + row["packets"]
    assert recorded == drops
    assert {row["cause"] for row in result.link_drops.rows()} == set(drops)
    again = fairdrop.result.result_of(result.document)
    assert again.drops.rows() == result.drops.rows(), "they are read back"
    result.report(tmp_path / "page.html")
    assert "over share" in (tmp_path / "page.html").read_text()
    (traced,) = (tmp_path / "trace").rglob("*.parquet")
    table = pytest.importorskip("pyarrow.parquet").read_table(traced).to_pydict()
    assert {cause for cause in table["cause"] if cause} == set(drops)


def test_causes_of_ones_own_are_declared():
    def refused(causes):
        with pytest.raises(ValueError) as raised:
            fairdrop.register(type("Bad", (Discipline,), {"causes": causes}))
        return str(raised.value)

    assert refused(("over share",)).startswith('bad: "over share" is not valid among its causes; valid: a name')
    assert "that no cause of the library has" in refused(("overflow",))


def test_bad_classes_are_refused():
    def refused(**attributes):
        with pytest.raises(ValueError) as raised:
            fairdrop.register(type("Bad", (Discipline,), attributes))
        return str(raised.value)

    assert refused(name="my own").startswith('"my own" is not a name')
    assert refused(name="red").startswith("there is a discipline red already")
    assert refused(p=param.number(2, 0, 1)).startswith("the default of bad.p is 2.0; valid: a number from 0 to 1")
    assert refused(limit=param.packets(1)).startswith("bad: limit is not valid as a parameter")
    with pytest.raises(ValueError, match="is no discipline"):
        fairdrop.register(dict)


@pytest.mark.parametrize(
    ("wrong", "right"),
    [("enque", "enqueue"), ("Enqueue", "enqueue"), ("deque", "dequeue"), ("back_log", "backlog"), ("timers", "timer")],
)
def test_a_method_that_is_nearly_one_that_is_called_is_refused(wrong, right):
    with pytest.raises(ValueError, match=f"near: the method {wrong} is not valid: .*; valid: {right}, or _{wrong} for"):
        fairdrop.register(type("Near", (Discipline,), {wrong: lambda self, *_: None}))


def test_an_attribute_that_is_nearly_one_that_is_read_is_refused():
    with pytest.raises(ValueError, match="near: the attribute internal is not valid: nothing reads it; valid: intern"):
        fairdrop.register(type("Near", (Discipline,), {"internal": ("avg",), "enqueue": lambda self, packet: None}))


class Helpers(Discipline):
    """Calls methods of its own, or has the right one as well."""

    limits = param.packets(3)
    names = ("a", "b")

    def enqueue(self, packet):
        self.queue.push(packet)
        return self.requeue() or self.names

    def requeue(self):
        return self.limits

    def enqueued(self):
        """Not called; enqueue is there."""

    def _deque(self):
        """Not public."""


def test_names_of_ones_own_are_kept():
    fairdrop.register(Helpers)


def test_a_file_with_a_near_miss_is_refused_by_the_command(folder, fairdrop):
    (folder / "mine.py").write_text(FIFO.replace("def enqueue", "def enque"))
    refused = fairdrop("run", folder / "own.toml")
    assert refused.returncode == 2 and "mine: the method enque is not valid" in refused.stderr, refused.stderr
    assert "parts: mine.py: " in refused.stderr and "valid: enqueue, or _enque for" in refused.stderr


class NoTimer(Discipline):
    """Sets a timer that it does not have."""

    def enqueue(self, packet):
        self.queue.push(packet)
        self.set_timer(0.1)


def test_a_timer_without_its_method_is_refused():
    with pytest.raises(fairdrop.ScenarioError, match=r"no_timer: ValueError: set_timer has nothing to call: the class"):
        scenario_of(NoTimer).run()


class Refuses(Discipline):
    """Gives no packet, from its tenth on or ever, with a timer or without."""

    first = param.integer(0)
    timed = param.switch(False)
    given = 0

    def enqueue(self, packet):
        if len(self.queue) < self.limit:
            self.queue.push(packet)
        else:
            self.drop(packet, "overflow")
        self.again()

    def dequeue(self):
        self.given += 1
        return self.queue.pop() if self.given < self.first else None

    def again(self):
        self.set_timer(0.5 if self.timed else None)

    def timer(self):
        self.again()


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ((), "it gave no packet to send, though 1 packet waits and no timer is set: the link stays idle; valid: "),
        (("first=100",), "it gave no packet to send, though "),
        (("timed=true",), "it has given no packet to send to the end of the run, though 20 packets wait (in dequeue"),
    ],
)
def test_a_discipline_that_holds_packets_for_ever_ends_the_run(settings, message):
    with pytest.raises(fairdrop.ScenarioError, match=re.escape(f"refuses: {message}")):
        scenario_of(Refuses, *(f"queue.refuses.{setting}" for setting in settings)).run()


def test_a_discipline_may_hold_packets_back_with_a_timer():
    """It gives some, and then none: how long is its affair as long as its timer is set."""
    result = scenario_of(Refuses, "queue.refuses.first=100", "queue.refuses.timed=true").run()
    assert result.document["runs"][0]["queues"][0]["max_packets"] == 20


def test_a_replay_says_that_packets_are_held_for_ever(tmp_path):
    fairdrop.register(Refuses)
    capture = tmp_path / "x.pcap"
    capture.write_bytes(pcap([packet(at * 1_000_000, 1000, 1) for at in range(50)]))
    with pytest.raises(fairdrop.ScenarioError, match="refuses: it gave no packet to send, though 1 packet waits"):
        fairdrop.replay(capture, disciplines=["refuses"])


class Ticks(Discipline):
    """Is called again after the least time that there is."""

    def enqueue(self, packet):
        self.queue.push(packet)
        self.timer()

    def timer(self):
        self.set_timer(1e-9)


def test_time_that_does_not_go_on_ends_the_run():
    words = r"ticks: its timer was called 65536 times within 0\.000065\d+ s, while \d packets? arrived: simulated time"
    with pytest.raises(fairdrop.ScenarioError, match=words):
        scenario_of(Ticks).run()


class NoNumber(Discipline):
    """Shows what is no number."""

    internals = ("avg",)
    avg = 0.0

    def enqueue(self, packet):
        self.queue.push(packet)
        self.avg = float("nan")


def test_internals_are_numbers():
    with pytest.raises(fairdrop.ScenarioError, match="no_number: avg = NaN is not valid among its internals; valid: a"):
        scenario_of(NoNumber).run()


class Endless(Discipline):
    """Goes on for ever at its hundredth packet under even seeds, whatever is raised in it, or for one packet."""

    stubborn = param.switch(False)
    seen = 0

    def __init__(self):
        self.goes_on = self.random("luck").bits() % 2 == 0

    def enqueue(self, packet):
        self.seen += 1
        while self.goes_on and self.seen > 99:
            try:
                while True:
                    pass
            except BaseException:
                if not self.stubborn:
                    raise
        if len(self.queue) < self.limit:
            self.queue.push(packet)
        else:
            self.drop(packet, "overflow")


def test_a_call_without_end_ends_its_run_alone():
    result = scenario_of(Endless, "duration=6").run(seeds=4, threads=1, run_timeout="500ms")
    kept, failed = (len(result.document["runs"]), len(result.failed))
    assert kept and failed and kept + failed == 4
    error = result.failed[0]["error"]
    message = r"endless: it was still at work after 0\.5 s \(--run-timeout\) \(in enqueue, at [\d.]+ s, packet 100\)\n"
    assert re.match(message, error), error
    assert "while True:" in error


def test_a_run_that_takes_too_long_is_ended():
    with pytest.raises(fairdrop.ScenarioError) as raised:
        scenario_of(Named, "duration=10000", "queue.discipline=choke").run(run_timeout=1e-6)
    message = r"choke: the run took longer than 0\.000001 s \(--run-timeout\), and was ended at [\d.]+ s of 10000 s of"
    assert re.match(message, str(raised.value))
    with pytest.raises(fairdrop.ScenarioError, match="run_timeout = '0s' is not valid; valid: a time above 0"):
        scenario_of(Named).run(run_timeout="0s")


@pytest.mark.parametrize("stubborn", [False, True])
def test_the_command_ends_where_ctrl_c_does_not_come(stubborn, folder):
    """As in a job that a shell has begun with ``&``: SIGINT is ignored. Not every call can be interrupted, either."""
    waits = '            __import__("threading").Event().wait()\n'
    (folder / "mine.py").write_text(STUCK.replace("            pass\n", waits if stubborn else "            pass\n"))
    (folder / "own.toml").write_text('parts = ["mine.py"]\n' + CONGESTED.format(name="stuck"))
    command = [sys.executable, "-m", "fairdrop", "run", "own.toml", "--run-timeout", "200ms"]
    script = ["sh", "-c", 'trap "" INT; exec "$@"', "sh", *command]
    done = subprocess.run(script, cwd=folder, capture_output=True, text=True, timeout=PATIENCE, check=False)
    assert done.returncode in ((1,) if stubborn else (1, 2)) and "Traceback" not in done.stderr.splitlines()[0]
    shown = "stuck, seed 1: it was still at work after 0.2 s" if stubborn else "stuck: it was still at work after 0.2 s"
    assert shown in done.stderr, done.stderr


def test_a_sweep_ends_its_long_runs(folder, fairdrop):
    (folder / "s.toml").write_text('base = "own.toml"\nseeds = 1\n[axes]\nduration = [6, 100000]\n')
    done = fairdrop("sweep", "s.toml", "--run-timeout", "1s")
    assert done.returncode == 1 and "mine: the run took longer than 1 s (--run-timeout)" in done.stderr, done.stderr


def test_ranges_have_a_lower_and_an_upper_end():
    with pytest.raises(ValueError, match="2 is not valid as the lower end of a range to 1; valid: at most that"):
        param.number(1, 2, 1)
    with pytest.raises(ValueError, match="inf is not valid as the end of a range"):
        param.packets(1, 0, float("inf"))


def test_a_file_that_ends_the_program_is_refused(fairdrop, tmp_path):
    (tmp_path / "ends.py").write_text("import sys\n\nsys.exit(3)\n")
    refused = fairdrop("list", "--parts", "ends.py")
    assert refused.returncode == 2 and "extension ends.py: SystemExit: 3 (line 3)" in refused.stderr


def test_a_file_may_import_what_lies_beside_it(folder, fairdrop):
    (folder / "rooms_of_mine.py").write_text("ROOM = 7\n")
    (folder / "mine.py").write_text("from rooms_of_mine import ROOM\n" + FIFO.replace("1e6", "ROOM"))
    listed = fairdrop("list", "mine", "--parts", folder / "mine.py")
    assert listed.returncode == 0 and "room, packets (default 7.0)" in listed.stdout, listed.stderr


STUCK = """
from fairdrop import Discipline


class Stuck(Discipline):
    def enqueue(self, packet):
        open("there", "w").close()
        while True:
            pass
"""


def test_ctrl_c_ends_a_call_that_goes_on_for_ever(folder):
    """And says where it was."""
    (folder / "mine.py").write_text(STUCK)
    (folder / "own.toml").write_text('parts = ["mine.py"]\n' + CONGESTED.format(name="stuck"))
    command = [sys.executable, "-m", "fairdrop", "run", "own.toml"]
    with Work(command, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as work:
        wait_for(lambda: (folder / "there").exists() or work.poll() is not None, "the first packet")
        work.send_signal(signal.SIGINT)
        _, stderr = work.communicate(timeout=PATIENCE)
    assert work.returncode == 1
    assert "stuck: it was still at work after Ctrl-C (in enqueue, at " in stderr
    assert "while True:" in stderr


class Fails(Discipline):
    """Fails at its hundredth packet under even seeds."""

    seen = 0

    def __init__(self):
        self.fails = self.random("luck").bits() % 2 == 0

    def enqueue(self, packet):
        self.seen += 1
        if self.seen == 100 and self.fails:
            self.give_up()
        if len(self.queue) < self.limit:
            self.queue.push(packet)
        else:
            self.drop(packet, "overflow")

    def give_up(self):
        raise LookupError("the hundredth packet")


def test_an_exception_ends_its_run_alone():
    """With the user's own traceback, the packet's number and the time; other runs are kept."""
    result = scenario_of(Fails).run(seeds=8, threads=2)
    failed = {run["seed"] for run in result.failed}
    kept = {run["seed"] for run in result.document["runs"]}
    assert failed and kept and failed | kept == set(range(1, 9)) and not failed & kept
    assert not result.complete
    error = result.failed[0]["error"]
    assert re.match(r"fails: LookupError: the hundredth packet \(in enqueue, at [\d.]+ s, packet 100\)\n", error)
    assert 'test_extension.py", line' in error and "in give_up" in error and "self.give_up()" in error
    assert "fairdrop/extension" not in error
    one = scenario_of(Fails, f"seed={result.failed[0]['seed']}")
    with pytest.raises(fairdrop.ScenarioError, match="LookupError"):
        one.run()


def test_a_sweep_shows_the_traceback_of_the_first_that_fails(folder, fairdrop):
    (folder / "mine.py").write_text(FIFO + "        1 / 0\n")
    (folder / "s.toml").write_text('base = "own.toml"\nseeds = 2\n[axes]\nqueue.mine.room = [5, 9]\n')
    done = fairdrop("sweep", "s.toml")
    assert done.returncode == 1
    heads = [line for line in done.stderr.splitlines() if "ZeroDivisionError: division by zero (in enqueue" in line]
    assert len(heads) == 4 and all(line.startswith("fairdrop: room = ") for line in heads)
    assert done.stderr.count("fairdrop:     1 / 0\n") == 1 and "\\n" not in done.stderr


class Wrong(Discipline):
    """Makes the mistake that ``way`` says."""

    way = param.choice("loses", ["loses", "twice", "strange", "cause", "full", "init"])

    def __init__(self):
        if self.way == "init":
            raise RuntimeError("no memory")

    def enqueue(self, packet):
        if self.way == "loses":
            return
        self.queue.push(packet)
        if self.way == "twice":
            self.drop(packet, "overflow")
        if self.way == "cause":
            self.drop(packet, "bad luck")

    def dequeue(self):
        return 5 if self.way == "strange" else self.queue.pop()


@pytest.mark.parametrize(
    ("way", "message"),
    [
        ("loses", "it says that 0 packets of 0 bytes wait, where 1 of "),
        ("twice", "it says that 1 packet of "),
        ("strange", "TypeError: dequeue gave int; valid: a Packet that waits, or None (in dequeue"),
        ("cause", 'ValueError: no packet is dropped for "bad luck"; valid: one of overflow'),
        ("full", "ValueError: the queue holds 20 packets, its limit"),
        ("init", "no queue of wrong: RuntimeError: no memory"),
    ],
)
def test_mistakes_are_named(way, message):
    with pytest.raises(fairdrop.ScenarioError, match=re.escape(message)):
        scenario_of(Wrong, f"queue.wrong.way={way}").run()


class Holds(Discipline):
    """Keeps each packet for 50 ms, though the link is free."""

    def enqueue(self, packet):
        self.queue.push(packet)
        self.wait()

    def dequeue(self):
        head = self.queue.head
        return self.queue.pop() if head and self.now_ns - head.arrived_ns >= 50_000_000 else None

    def timer(self):
        self.wait()

    def wait(self):
        due = [packet.arrived_ns + 50_000_000 - self.now_ns for packet in self.queue.packets()]
        self.set_timer(min((ns for ns in due if ns > 0), default=0) / 1e9 if max(due, default=0) > 0 else None)


def test_timers_are_called_at_their_time():
    text = CONGESTED.format(name="holds").split("[[groups]]")
    slow = "[[groups]]".join([text[0], text[2].replace("500kbit", "100kbit")])
    queue = fairdrop.Scenario(slow, parts=[Holds]).run().document["runs"][0]["queues"][0]
    assert queue["sojourn_s"]["mean"] == pytest.approx(0.05, abs=1e-6)


class Marks(Discipline):
    """Marks every tenth packet; keeps flows apart in queues of its own, oldest flow first."""

    def __init__(self):
        self.seen, self.of_flow = 0, {}

    def enqueue(self, packet):
        self.seen += 1
        if self.seen % 10 == 0 and not self.mark(packet):
            return self.drop(packet, "red_early")
        if packet.flow not in self.of_flow:
            self.of_flow[packet.flow] = self.new_queue()
        queue = self.of_flow[packet.flow]
        return queue.push(packet) if len(queue) < 5 else self.drop(packet, "overflow")

    def dequeue(self):
        return next((queue.pop() for queue in self.of_flow.values() if queue), None)


def test_marks_and_queues_of_its_own():
    run = scenario_of(Marks, "groups.tcp.ecn=true").run().document["runs"][0]
    assert sum(run["queues"][0]["marks"].values()) > 0
    assert run["queues"][0]["drops"]["red_early"] > 0


def test_command_line(folder, fairdrop):
    listed = fairdrop("list", "mine", "--parts", folder / "mine.py")
    assert listed.returncode == 0 and "mine\nA FIFO.\n" in listed.stdout and "room, packets" in listed.stdout
    done = fairdrop("compare", folder / "own.toml", "--disciplines", "droptail,mine", "--report", "page.html")
    assert done.returncode == 0, done.stderr
    droptail, mine = (line.split()[1:] for line in done.stdout.splitlines() if re.match(r"(droptail|mine) +udp", line))
    assert droptail == mine
    (folder / "broken.py").write_text("import fairdrop\nx = 1 / 0\n")
    for words, message in (
        (("--parts", folder / "broken.py"), "ZeroDivisionError: division by zero (line 2)"),
        (("--parts", folder / "none.py"), "none.py: No such file or directory"),
        (("--parts", folder / "own.toml"), "a file of this kind is not loaded"),
        (("--set", 'parts=["none.py"]'), "parts: none.py: No such file"),
    ):
        refused = fairdrop("run", folder / "own.toml", *words)
        assert refused.returncode == 2 and message in refused.stderr, refused.stderr
        assert "Traceback" not in refused.stderr


def test_a_sweep_over_ones_own(folder):
    study = {
        "base": "own.toml",
        "axes": {"discipline": ["mine", "droptail"]},
        "seeds": 2,
    }
    (folder / "study.toml").write_text(fairdrop.scenario.toml_text(study))
    found = fairdrop.sweep(folder / "study.toml", out=folder / "out")
    assert found.complete and found.runs == 4


def test_what_changed_in_the_file_is_read_anew(folder):
    before = fairdrop.load(folder / "own.toml").to_dict()["parts"]["mine"]
    assert before.startswith("python:")
    (folder / "mine.py").write_text(FIFO.replace('"overflow"', '"filter"'))
    scenario = fairdrop.load(folder / "own.toml")
    assert scenario.to_dict()["parts"]["mine"] != before
    assert scenario.run().document["runs"][0]["queues"][0]["drops"]["filter"] > 0


def test_live_runs_refuse_it(folder):
    with pytest.raises((fairdrop.ScenarioError, OSError), match=r"simulated only|fairdropd"):
        fairdrop.load(folder / "own.toml").live()


def built(folder, language):
    """Builds a project, and returns the command that runs its test; skips where the language is not there."""
    if language == "python":
        return [sys.executable, "-m", "pytest", "-q"]
    tool = {"c": os.environ.get("CC", "cc"), "rust": "cargo"}[language]
    if shutil.which(tool) is None:
        pytest.skip(f"there is no {tool}")
    if language == "c":
        subprocess.run(["make", "--silent", f"{folder.name}.so"], cwd=folder, check=True)
        return [sys.executable, "-m", "pytest", "-q"]
    return ["cargo", "test", "--quiet", "--offline"]


@pytest.mark.parametrize("language", ["python", "c", "rust"])
def test_new_projects_pass_their_tests(language, fairdrop, root, tmp_path):
    made = fairdrop("new", "discipline", f"my_{language}", "--language", language)
    assert made.returncode == 0, made.stderr
    folder = tmp_path / f"my_{language}"
    assert {path for path in folder.rglob("*") if path.is_file()} == {tmp_path / line for line in made.stdout.split()}
    # The versions are those of the checkout.
    if language == "rust":
        shutil.copy(root / "Cargo.lock", folder)
    with kept_build(root) as environment:
        done = subprocess.run(built(folder, language), cwd=folder, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


def test_new_projects_have_new_names_and_folders(fairdrop, tmp_path):
    (tmp_path / "there").mkdir()
    for words, message in (
        (("there",), "there: is there already"),
        (("red",), "'red' is not valid"),
        (("My",), "small letters"),
        (("fine", "--language", "rust", "--library", tmp_path), "valid: a checkout"),
        # Its file would hide the module that its test imports.
        (("random",), "valid: a name that means nothing else in Python"),
        (("option", "--language", "rust"), "valid: a name that means nothing else in Rust"),
    ):
        refused = fairdrop("new", "discipline", *words)
        assert refused.returncode == 2 and message in refused.stderr, refused.stderr
        assert not (tmp_path / "fine").exists()


def test_a_plug_in_by_its_file(fairdrop, root, tmp_path):
    """CHOKe in C from Python: the same bits, under the name of its table, by its file or by its name."""
    if shutil.which("cc") is None:
        pytest.skip("there is no C compiler")
    source, header = root / "crates/fairdrop-extension/examples/choke.c", root / "crates/fairdrop-ffi/include"
    command = ["cc", "-shared", "-fPIC", "-O2", "-ffp-contract=off", "-I", header, source, "-o", tmp_path / "choke.so"]
    subprocess.run(command, check=True)
    text = CONGESTED.format(name="./choke.so")
    (tmp_path / "own.toml").write_text(text)
    done = fairdrop("compare", "own.toml", "--parts", "choke.so", "--disciplines", "choke,c_choke,./choke.so", "--json")
    assert done.returncode == 0, done.stderr
    choke, own = (run["groups"] for run in json.loads(done.stdout)["runs"])
    assert choke == own, "named twice, it runs once"
    (tmp_path / "choke.so").write_text("no shared object")
    refused = fairdrop("run", "own.toml")
    assert refused.returncode == 2 and "no shared object for this machine" in refused.stderr, refused.stderr


def test_former_names_still_lead_to_the_same():
    from fairdrop import extension, extension_check, part_check, parts

    assert all(getattr(parts, name) is getattr(extension, name) for name in extension.__all__)
    assert part_check.check_parts is extension_check.check_extensions
    options = build_parser().parse_args(["list", "--parts", "a.py", "--extension", "b.so"])
    assert options.extensions == ["a.py", "b.so"]

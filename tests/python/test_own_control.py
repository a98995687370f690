"""User-defined congestion controls in Python: the same checks, determinism and results as those of the simulator."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from typing import ClassVar

import pytest

import fairdrop
import pages
from fairdrop import CongestionControl, param
from fairdrop.document import document_of
from fairdrop.extension import registry
from fairdrop.report.greedy import find_subject
from fairdrop.scenario import toml_text
from processes import kept_build

CONGESTED = """\
duration = 20
warm_up = 5
[dumbbell]
rate = "1mbit"
[queue]
discipline = "red"
limit = "20p"
[queue.red]
min_th = "5p"
max_th = "15p"
[[groups]]
name = "tcp"
transport = "{name}"
count = 4
[[groups]]
name = "udp"
transport = "cbr"
rate = "500kbit"
"""

AIMD = """\
from fairdrop import CongestionControl, param


class Mine(CongestionControl):
    \"\"\"Reno that keeps another part of its window.\"\"\"

    decrease = param.number(0.5, 0.1, 0.9, doc="What congestion leaves of the window.")

    def on_loss(self, loss):
        if not loss.follows_ecn:
            self.ssthresh = max(loss.flight * self.decrease, 2)
"""


@pytest.fixture(autouse=True)
def nothing_registered(monkeypatch):
    monkeypatch.setattr(registry, "_registered", {})


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "mine.py").write_text(AIMD)
    (tmp_path / "own.toml").write_text('parts = ["mine.py"]\n' + CONGESTED.format(name="mine"))
    return tmp_path


def runs(scenario, name, seeds=1, **more):
    """All that was found, but for the control's name."""
    found = scenario.run(seeds=seeds, **more).document["runs"]
    return json.loads(json.dumps(found).replace(f'"{name}"', '"this"'))


def scenario_of(name, *settings, parts=()):
    return fairdrop.Scenario(CONGESTED.format(name=name), settings=settings, parts=parts)


class Same(CongestionControl):
    """What the base class does."""


class SameOverReno(CongestionControl):
    """The same over another recovery."""

    recovery = "reno"


def test_reno_of_the_page_is_the_simulators(root, headline, tmp_path):
    """Bit for bit on the headline scenario."""
    text = (root / "docs" / "how-to" / "your-own-congestion-control.md").read_text(encoding="utf-8")
    (block,) = [block for block in pages.blocks(text) if block.file == "my_reno.py"]
    (tmp_path / "my_reno.py").write_text(block.body)
    fairdrop.register(tmp_path / "my_reno.py")
    reno, mine = (fairdrop.load(headline, [f"groups.tcp.transport={name}"]) for name in ("reno", "my_reno"))
    assert runs(mine, "my_reno") == runs(reno, "reno")


@pytest.mark.parametrize(
    "settings",
    [
        (),
        ("groups.tcp.ecn=true",),
        ("groups.tcp.app_rate=100kbit",),
        ("groups.tcp.connections=5", "groups.tcp.transfer=20kB"),
        ("dumbbell.loss=0.2", "groups.tcp.delayed_ack=true"),
        ("groups.tcp.era=ns2-2005",),
    ],
    ids=str,
)
@pytest.mark.parametrize(("class_", "built_in"), [(Same, "sack"), (SameOverReno, "reno")])
def test_the_base_class_is_reno(class_, built_in, settings):
    name = registry.name_of(class_)
    assert runs(scenario_of(name, *settings, parts=[class_]), name) == runs(scenario_of(built_in, *settings), built_in)


def test_threads_and_processes_find_the_same(folder):
    scenario = fairdrop.load(folder / "own.toml", ["groups.tcp.decrease=0.7"])
    here = runs(scenario, "mine", seeds=4, threads=1)
    assert runs(scenario, "mine", seeds=4, threads=2) == here
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        assert list(pool.map(runs, [scenario], ["mine"], [4])) == [here]
    assert runs(fairdrop.load(folder / "own.toml"), "mine", seeds=4) != here, "the parameter matters"


def test_parameters_are_checked_as_the_simulators(folder):
    scenario = fairdrop.load(folder / "own.toml", ["groups.tcp.decrease=0.7"])
    assert scenario.to_dict()["groups"][0]["settings"]["decrease"] == 0.7
    for setting, message in (
        ("groups.tcp.decrease=1", "groups.tcp.decrease = 1 is not valid; valid: a number from 0.1 to 0.9"),
        ("groups.tcp.increase=1", "there is no field groups.tcp.increase"),
        ("groups.tcp.transport=minne", "minne"),
        ("groups.tcp.era=linux", 'with era = "linux"'),
    ):
        with pytest.raises(fairdrop.ScenarioError, match=re.escape(message)):
            fairdrop.load(folder / "own.toml", [setting])


class Observer(CongestionControl):
    """Looks at all that it is given."""

    name = "observer"
    source = "Here 2026"
    a = param.number(0.5, 0, 1, unit="1/s", doc="A number.")
    steps = param.integer(3, 1, 9)

    def __init__(self):
        assert (self.a, self.steps, self.segment_bytes, self.cwnd) == (0.25, 3, 1000, 10.0)
        assert self.flow_name in [f"tcp[{flow}]" for flow in range(4)] and self.now == 0
        self.draw = self.random("draw")
        self.una, self.losses, self.samples = 0, 0, 0

    def on_ack(self, ack):
        assert ack.segment >= self.una and ack.acked in (0, ack.segment - self.una)
        assert ack.acked_bytes == 1000 * ack.acked and ack.in_flight >= 0
        assert ack.rtt is None or 0 < ack.rtt < self.now
        assert 0 <= self.draw.uniform() < 1 and ack.rate is None and self.pacing_rate is None
        assert not (ack.in_recovery and ack.may_grow)
        self.samples += ack.rtt is not None
        self.una = ack.segment
        super().on_ack(ack)

    def on_loss(self, loss):
        assert loss.flight >= 1 and not loss.again
        self.losses += 1
        super().on_loss(loss)

    def on_timeout(self, timeout):
        assert (timeout.flight is None) == timeout.again
        if self.losses and self.samples and timeout.again:
            raise LookupError("all was seen")
        super().on_timeout(timeout)


def test_what_a_control_is_given():
    scenario = scenario_of("observer", "groups.tcp.a=0.25", "dumbbell.loss=0.3", parts=[Observer])
    with pytest.raises(fairdrop.ScenarioError, match=r"observer: LookupError: all was seen \(in on_timeout"):
        scenario.run()
    fairdrop.register(Observer)
    (entry,) = [entry for entry in fairdrop.catalogue()["transports"] if entry["name"] == "observer"]
    assert entry["source"] == "Here 2026" and entry["backs_off"]
    parameters = {one["name"]: (one["unit"], one["default"], one["valid"]) for one in entry["parameters"]}
    assert parameters["a"] == ("1/s", 0.5, "a number from 0 to 1") and "max_window" in parameters


class Paced(CongestionControl):
    """A window far too large, and segments that leave at a rate."""

    model_based = True
    per_s = param.number(40, 1, 1e6)
    seen: ClassVar[list[float]] = []

    def __init__(self):
        self.pacing_rate = self.per_s

    def on_ack(self, ack):
        assert ack.rate.total_delivered >= ack.rate.delivered
        if ack.rate.rate:
            self.seen.append(ack.rate.rate)
        self.cwnd = 100


def test_pacing_spreads_what_is_sent():
    """40 segments of 1000 bytes a second: nothing waits, and the rates of delivery are that."""
    Paced.seen.clear()
    text = CONGESTED.format(name="paced").split("[[groups]]")
    settings = ["groups.tcp.count=1", "groups.tcp.delayed_ack=false", "dumbbell.delay=200ms"]
    run = fairdrop.Scenario("[[groups]]".join(text[:2]), settings=settings, parts=[Paced]).run().document["runs"][0]
    assert run["groups"][0]["throughput_bps"] == pytest.approx(320_000, rel=0.01)
    assert run["queues"][0]["max_packets"] <= 1
    assert sorted(Paced.seen)[len(Paced.seen) // 2] == pytest.approx(40, rel=0.01)


class Fails(CongestionControl):
    """Fails at its hundredth ACK under even seeds."""

    seen = 0

    def __init__(self):
        self.fails = self.random("luck").bits() % 2 == 0

    def on_ack(self, ack):
        self.seen += 1
        if self.seen == 100 and self.fails:
            self.give_up()
        super().on_ack(ack)

    def give_up(self):
        raise LookupError("the hundredth ACK")


def test_an_exception_ends_its_run_alone():
    """With the user's own traceback, the flow, the segment and the time; other runs are kept."""
    result = scenario_of("fails", "groups.tcp.count=1", parts=[Fails]).run(seeds=8, threads=2)
    failed = {run["seed"] for run in result.failed}
    kept = {run["seed"] for run in result.document["runs"]}
    assert failed and kept and failed | kept == set(range(1, 9)) and not failed & kept
    error = result.failed[0]["error"]
    message = r"fails: LookupError: the hundredth ACK \(in on_ack, at [\d.]+ s, flow tcp\[0\], segment \d+\)\n"
    assert re.match(message, error), error
    assert 'test_own_control.py", line' in error and "in give_up" in error and "self.give_up()" in error
    assert "fairdrop/extension" not in error


class Wrong(CongestionControl):
    """Makes the mistake that ``way`` says."""

    way = param.choice("none", ["none", "zero", "infinite", "text", "ssthresh", "pace", "init", "loss"])

    def __init__(self):
        if self.way == "init":
            raise RuntimeError("no memory")

    def on_ack(self, ack):
        match self.way:
            case "none":
                self.cwnd = float("nan")
            case "zero":
                self.cwnd -= self.cwnd
            case "infinite":
                self.cwnd = float("inf")
            case "text":
                self.cwnd = "much"
            case "ssthresh":
                self.ssthresh = -1
            case "pace":
                self.pacing_rate = 0
        super().on_ack(ack)

    def on_loss(self, loss):
        self.ssthresh = loss.flight if self.way != "loss" else None


@pytest.mark.parametrize(
    ("way", "message"),
    [
        ("none", "ValueError: cwnd = NaN is not valid; valid: segments, above 0 (in on_ack, at "),
        ("zero", "ValueError: cwnd = 0 is not valid; valid: segments, above 0 (in on_ack, at "),
        ("infinite", "ValueError: cwnd = inf is not valid; valid: segments, above 0 (in on_ack, at "),
        ("text", "TypeError: "),
        ("ssthresh", "ValueError: ssthresh = -1 is not valid; valid: segments, above 0 (in on_ack, at "),
        ("pace", "ValueError: pacing_rate = 0 is not valid; valid: segments per second, above 0, or None"),
        ("init", "RuntimeError: no memory (in begin, at 0 s, flow tcp[0], segment 0)"),
        ("loss", "TypeError: "),
    ],
)
def test_mistakes_are_named(way, message):
    with pytest.raises(fairdrop.ScenarioError, match=re.escape(f"wrong: {message}")):
        scenario_of("wrong", f"groups.tcp.way={way}", parts=[Wrong]).run()


def test_bad_classes_are_refused():
    def refused(**attributes):
        with pytest.raises(ValueError) as raised:
            fairdrop.register(type("Bad", (CongestionControl,), attributes))
        return str(raised.value)

    assert refused(name="my own").startswith('"my own" is not a name')
    assert refused(name="cubic").startswith("there is a transport cubic already")
    assert refused(name="red").startswith("there is a discipline red already")
    assert refused(cwnd=param.packets(1)).startswith("bad: cwnd is not valid as a parameter")
    assert refused(max_window=param.packets(1)).startswith("max_window is a field of every group")
    assert 'valid: one of "sack"' in refused(recovery="tcp")
    assert "with model_based" in refused(recovery="reno", model_based=True)


@pytest.mark.parametrize(
    ("wrong", "right"),
    [("on_los", "on_loss"), ("onAck", "on_ack"), ("on_time_out", "on_timeout"), ("on_enc", "on_ecn")],
)
def test_a_method_that_is_nearly_one_that_is_called_is_refused(wrong, right):
    with pytest.raises(ValueError, match=f"near: the method {wrong} is not valid: .*; valid: {right}, or _{wrong} for"):
        fairdrop.register(type("Near", (CongestionControl,), {wrong: lambda self, *_: None}))


def test_an_attribute_that_is_nearly_one_that_is_read_is_refused():
    with pytest.raises(ValueError, match="near: the attribute model_base is not valid: nothing reads it; valid: mod"):
        fairdrop.register(type("Near", (CongestionControl,), {"model_base": True}))


def test_command_line(folder, fairdrop):
    listed = fairdrop("list", "mine", "--parts", folder / "mine.py")
    assert listed.returncode == 0 and "Reno that keeps another part" in listed.stdout and "decrease" in listed.stdout
    words = ("--disciplines", "droptail,choke", "--report", "page.html")
    done = fairdrop("compare", folder / "own.toml", *words)
    assert done.returncode == 0, done.stderr
    assert "mine" in (folder / "page.html").read_text()
    text = CONGESTED.format(name="mine")
    (folder / "named.toml").write_text(text)
    assert fairdrop("run", "named.toml", "--parts", "mine.py").returncode == 0
    refused = fairdrop("run", "named.toml")
    assert refused.returncode == 2 and 'groups.tcp.transport = "mine" is not valid' in refused.stderr


def test_a_sweep_over_ones_own_keeps_versions_apart(folder):
    study = {"base": "own.toml", "axes": {"groups.tcp.transport": ["mine", "sack"]}, "seeds": 2}
    (folder / "study.toml").write_text(toml_text(study))
    first = fairdrop.sweep(folder / "study.toml", out=folder / "out")
    assert first.complete and first.runs == 4
    before = fairdrop.load(folder / "own.toml").to_dict()["parts"]["mine"]
    (folder / "mine.py").write_text(AIMD.replace("0.5, 0.1", "0.6, 0.1"))
    scenario = fairdrop.load(folder / "own.toml")
    assert before.startswith("python:") and scenario.to_dict()["parts"]["mine"] != before
    second = fairdrop.sweep(folder / "study.toml", out=folder / "out")
    assert second.complete
    assert second.computed == 4, "those of the version before are not taken"
    assert fairdrop.sweep(folder / "study.toml", out=folder / "out").computed == 0


def test_live_runs_refuse_it(folder):
    with pytest.raises((fairdrop.ScenarioError, OSError), match=r"simulated only|fairdropd"):
        fairdrop.load(folder / "own.toml").live()


def test_reports_know_that_it_backs_off(folder):
    document = fairdrop.load(folder / "own.toml").run().document
    for flow in document["runs"][0]["flows"]:
        flow["offered_bps"] *= 2 if flow["transport"] == "mine" else 1
    subject = find_subject(document_of(document))
    assert subject is not None and subject.flows == ("udp[0]",)
    del document["scenario"]["parts"]
    subject = find_subject(document_of(document))
    assert subject is not None and len(subject.flows) > 1, "judged by what they offer alone, they are greedy"


@pytest.mark.parametrize("language", ["python", "rust"])
def test_new_projects_pass_their_tests(language, fairdrop, root, tmp_path):
    made = fairdrop("new", "congestion-control", f"my_{language}", "--language", language)
    assert made.returncode == 0, made.stderr
    folder = tmp_path / f"my_{language}"
    assert {path for path in folder.rglob("*") if path.is_file()} == {tmp_path / line for line in made.stdout.split()}
    command = [sys.executable, "-m", "pytest", "-q"]
    if language == "rust":
        if shutil.which("cargo") is None:
            pytest.skip("there is no cargo")
        shutil.copy(root / "Cargo.lock", folder)
        command = ["cargo", "test", "--quiet", "--offline"]
    with kept_build(root) as environment:
        done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def test_new_projects_have_new_names(fairdrop, tmp_path):
    for words, message in (
        (("cubic",), "'cubic' is not valid"),
        (("My",), "small letters"),
        (("fine", "--language", "c"), "valid: python, rust"),
    ):
        refused = fairdrop("new", "congestion-control", *words)
        assert refused.returncode == 2 and message in refused.stderr, refused.stderr
        assert not (tmp_path / "fine").exists()

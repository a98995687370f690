"""`fairdrop check`: what it finds wrong with parts, and that it finds nothing wrong with good ones."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess

import pytest

import fairdrop
from fairdrop import _core
from fairdrop.extension import registry
from fairdrop.extension_check import check_extensions

FIFO = """\
from fairdrop import Discipline


class {name}(Discipline):
    \"\"\"A FIFO.\"\"\"

    def enqueue(self, packet):
        if len(self.queue) < self.limit:
            self.queue.push(packet)
        else:
            self.drop(packet, "overflow")
"""
ADMITS = """\
#include <stdlib.h>
#include "fairdrop.h"

static void *make(const fairdrop_plugin_host *host) {
    (void)host;
    return malloc(1);
}

static int32_t admit(void *queue, fairdrop_packet *packet, uint64_t now) {
    (void)queue, (void)packet, (void)now;
    return FAIRDROP_ADMIT;
}

static const fairdrop_plugin table = {
    .version = FAIRDROP_PLUGIN_VERSION, .name = "in_c", .doc = "A FIFO.", .make = make, .release = free, .admit = admit,
};

const fairdrop_plugin *fairdrop_plugin_table(void) {
    return &table;
}
"""


@pytest.fixture(autouse=True)
def nothing_registered(monkeypatch):
    monkeypatch.setattr(registry, "_registered", {})


def found(folder, text, name="mine", **more):
    """Outcome and words of each check of a file."""
    (folder / f"{name}.py").write_text(text)
    return {one.check: (one.outcome, one.told) for one in check_extensions([folder / f"{name}.py"], **more)}


def test_a_good_part_passes(tmp_path):
    checks = found(tmp_path, FIFO.format(name="Mine"), rival="droptail")
    outcomes = {check: outcome for check, (outcome, _) in checks.items()}
    expected = ("load", "run", "determinism", "work conservation")
    assert outcomes == dict.fromkeys(expected, "passed") | {"cost": "measured"}
    words = r"\d+ ns of processor time per packet of the simulation, \d+\.\d times that with droptail"
    assert re.fullmatch(words, checks["cost"][1])


NEVER = "    def dequeue(self):\n        return None\n\n    def enqueue"


@pytest.mark.parametrize(
    ("old", "new", "check", "message"),
    [
        ("def enqueue", "def enque", "load", "mine: the method enque is not valid"),
        ("def enqueue(self, packet)", "def enqueue(self)", "load", "valid: enqueue(self, packet)"),
        ("def enqueue", "def _put", "run", "NotImplementedError: Mine has no method enqueue"),
        ("self.queue.push(packet)", "1 / 0", "run", "ZeroDivisionError"),
        ("self.queue.push(packet)", "pass", "run", "it says that 0 packets of 0 bytes wait"),
        ("    def enqueue", NEVER, "work conservation", "1 packet waits"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_named(old, new, check, message, tmp_path):
    outcome, text = found(tmp_path, FIFO.format(name="Mine").replace(old, new))[check]
    assert outcome == "failed" and message in text, text


@pytest.mark.parametrize("number", ["random.random()", "random.Random().random()", "time.perf_counter_ns() % 97 / 97"])
def test_what_no_seed_decides_is_a_warning_and_fails(number, tmp_path):
    text = FIFO.format(name="Mine").replace("if len", f"if {number} < 0.9 and len")
    checks = found(tmp_path, f"import random\nimport time\n{text}")
    assert checks["determinism"][0] == "failed" and "in a second run of the seed" in checks["determinism"][1]
    outcome, warning = checks["random numbers"]
    assert outcome == "warning" and f"mine: {number.split('(')[0]}() in line 10 of its file does not depend" in warning


def test_what_hashes_decide_is_found_in_another_process(tmp_path):
    text = FIFO.format(name="Mine").replace("if len", 'if hash(str(self.now_ns)) % 5 and len')
    checks = found(tmp_path, text)
    assert checks["determinism"][0] == "failed" and "in another process" in checks["determinism"][1]


def test_results_name_what_no_seed_decides(tmp_path):
    """Of the parts that ran, and of no other."""
    text = FIFO.format(name="Mine").replace("if len", "if roll() < 0.9 and len")
    (tmp_path / "mine.py").write_text(f"from random import random as roll\n{text}")
    fairdrop.register(tmp_path / "mine.py")
    scenario = fairdrop.Scenario.build(duration=6, warm_up=1).queue("mine").group("udp", "cbr", rate="2mbit").scenario()
    (warning,) = [one for one in scenario.run().document["warnings"] if "seed" in one]
    assert warning.startswith("mine: roll() in line 9 of its file") and 'valid: self.random("NAME")' in warning
    assert not [one for one in scenario.compare(["droptail"]).document["warnings"] if "seed" in one]


def test_numbers_of_a_seed_are_no_warning(tmp_path):
    text = FIFO.format(name="Mine").replace(
        "if len", 'if random.Random(3).random() < self.random("luck").uniform() and len'
    )
    checks = found(tmp_path, f"import random\n{text}")
    assert "random numbers" not in checks and checks["determinism"][0] == "passed"


def test_a_part_that_holds_back_is_reported(tmp_path):
    held = """
    def dequeue(self):
        self.set_timer(0.1)
        return None if self.now_ns % 200_000_000 < 100_000_000 else self.queue.pop()

    def timer(self):
        pass
"""
    checks = found(tmp_path, FIFO.format(name="Mine") + held)
    assert checks["work conservation"][0] == "warning"
    assert re.match(r"the link carries \d\d% of what it carries under droptail", checks["work conservation"][1])


def test_a_part_without_end_is_ended(tmp_path):
    text = FIFO.format(name="Mine").replace("self.queue.push(packet)", "while True: pass")
    outcome, text = found(tmp_path, text, run_timeout="100ms")["run"]
    assert outcome == "failed" and text.startswith("mine: it was still at work after 0.1 s (--run-timeout) (in enqueue")


def test_congestion_controls_are_checked(tmp_path):
    text = "from fairdrop import CongestionControl\n\n\nclass Mine(CongestionControl):\n    pass\n"
    checks = found(tmp_path, text)
    assert checks["load"] == ("passed", "a congestion control") and checks["cost"][1].endswith("times that with sack")
    checks = found(tmp_path, text.replace("pass", "def on_ack(self, ack): self.cwnd = 0"), "other")
    assert checks["run"][0] == "failed" and "cwnd = 0 is not valid" in checks["run"][1]


def test_the_command(tmp_path, fairdrop):
    (tmp_path / "good.py").write_text(FIFO.format(name="Good"))
    (tmp_path / "same.py").write_text(FIFO.format(name="Same"))
    (tmp_path / "other.py").write_text(FIFO.format(name="Other").replace("self.limit", "self.limit - 1"))
    done = fairdrop("check", "good.py", "same.py")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "same.py: same\n  load " in done.stdout
    assert re.search(r"same as good \(good\.py\) +passed +2 seeds, to the last digit", done.stdout)
    done = fairdrop("check", "good.py", "other.py", "none.py", "--json")
    assert done.returncode == 1
    checks = {(one["file"], one["check"]): one for one in json.loads(done.stdout)}
    assert re.search(" is .*, and .* here", checks["other.py", "same as good (good.py)"]["told"])
    assert checks["none.py", "load"]["told"] == "No such file or directory"
    refused = fairdrop("check", "good.py", "--rival", "none")
    assert refused.returncode == 2 and "none" in refused.stderr and "Traceback" not in refused.stderr


def compile_plugin(folder, source):
    compiler = shutil.which(os.environ.get("CC", "cc"))
    if compiler is None:
        pytest.skip("there is no C compiler")
    (folder / "fairdrop.h").write_text(_core.HEADER)
    (folder / "in_c.c").write_text(source)
    subprocess.run([compiler, "-shared", "-fPIC", "in_c.c", "-o", "in_c.so"], cwd=folder, check=True)


def test_a_plug_in_without_end_ends_the_command(tmp_path, fairdrop):
    """Nothing can interrupt it."""
    compile_plugin(tmp_path, ADMITS.replace("    return FAIRDROP_ADMIT;", "    for (;;) {}"))
    done = fairdrop("check", "in_c.so", "--run-timeout", "100ms")
    message = "in_c, seed 1: it was still at work after 0.1 s (--run-timeout), in a call that cannot be interrupted"
    assert done.returncode == 1 and message in done.stderr, done.stderr


def test_c_and_python_are_compared(tmp_path, fairdrop):
    compile_plugin(tmp_path, ADMITS)
    (tmp_path / "mine.py").write_text(FIFO.format(name="Mine"))
    done = fairdrop("check", "mine.py", "in_c.so")
    assert done.returncode == 0 and "same as mine (mine.py)" in done.stdout, done.stdout + done.stderr
    content = (tmp_path / "in_c.so").read_bytes()
    (tmp_path / "cut.so").write_bytes(content[: len(content) // 2])
    done = fairdrop("check", "cut.so")
    assert done.returncode == 1 and "it is cut short or damaged" in done.stdout, done.stdout + done.stderr


def test_a_fifo_is_no_part(tmp_path, fairdrop):
    os.mkfifo(tmp_path / "mine.py")
    done = fairdrop("check", "mine.py")
    assert done.returncode == 1 and "regular file" in done.stdout, done.stdout + done.stderr

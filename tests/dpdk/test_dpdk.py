"""The forwarder on DPDK's virtual devices: it loses nothing, is repeatable, and says what is wrong."""

from __future__ import annotations

import contextlib
import json
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import threading
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import frames
import pytest

from processes import Work

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
EXAMPLE = ROOT / "examples" / "dpdk"
LIBRARY = ROOT / "target" / "c" / "libfairdrop_ffi.a"
# Without huge pages, hardware or files that other processes would meet.
EAL = ["--no-huge", "--no-pci", "--no-telemetry", "--no-shconf", "-l", str(min(os.sched_getaffinity(0)))]
PATIENCE_S = 120
NULL = ["--vdev=net_null0,size=64"]
# A link of 5 Mb/s, offered twice that.
LINK = ["--rate", "5000000", "--virtual-time", "10000000", "--seed", "7"]
QUEUE = ["limit=100p"]
RED = ["limit=100p", "min_th=20p", "max_th=60p"]


def run(forward: Path, devices: list[str], options: list[str]) -> subprocess.CompletedProcess[str]:
    command = [forward, *EAL, *devices, "--", *options]
    return subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE_S, check=False)


def counters(forward: Path, devices: list[str], options: list[str]) -> dict[str, Any]:
    done = run(forward, devices, [*options, "--json"])
    assert done.returncode == 0, done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    return found


@contextlib.contextmanager
def ended_late(work: Work) -> Iterator[None]:
    """Kills a process that a test waits for too long."""
    late = threading.Timer(PATIENCE_S, work.kill)
    late.start()
    try:
        yield
    finally:
        late.cancel()


def assert_nothing_is_lost(path: dict[str, Any]) -> None:
    for unit in ("packets", "bytes"):
        dropped = sum(cause[unit] for cause in path["dropped"].values())
        rest = sum(path[end][unit] for end in ("sent", "unsent", "queued"))
        assert path["received"][unit] == rest + dropped, path


def through(forward: Path, source: Path, options: list[str]) -> tuple[dict[str, Any], list[bytes]]:
    """The frames of a capture through the forwarder: the counters of their path, and what came out."""
    out = source.with_suffix(".out")
    found = counters(forward, [f"--vdev=net_pcap0,rx_pcap={source},tx_pcap={out}"], options)
    (path,) = found["paths"]
    assert_nothing_is_lost(path)
    sent = frames.read(out)
    assert path["missed"] == path["unsent"]["packets"] == 0
    assert path["sent"] == {"packets": len(sent), "bytes": sum(map(len, sent))}
    return path, sent


@pytest.fixture(scope="module")
def crowd(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One sender with half of the packets, and eight with a sixteenth each."""
    path = tmp_path_factory.mktemp("crowd") / "crowd.pcap"
    order = random.Random(1).choices(range(9), [8, *[1] * 8], k=8000)
    frames.write(path, (frames.udp(sender, number, 250) for number, sender in enumerate(order)))
    return path


def disciplines(forward: Path) -> list[str]:
    """All that the message for a mistyped one names."""
    printed = run(forward, NULL, ["--discipline", "chok"]).stderr
    return printed.partition("there are ")[2].partition(";")[0].split()


@pytest.mark.parametrize(
    "options", [["none"], ["droptail"], ["red"], ["choke"], ["rte_red"], ["rte_red", "--hold", "150"]]
)
def test_null_devices(forward: Path, options: list[str]) -> None:
    wanted = 100_000
    found = counters(forward, NULL, ["--packets", str(wanted), "--fill", "100", "--discipline", *options])
    (path,) = found["paths"]
    assert path["received"] == {"packets": wanted, "bytes": 64 * wanted}
    assert_nothing_is_lost(path)


def test_choke_drops_by_match_where_packets_wait(forward: Path) -> None:
    options = ["--packets", "200000", "--fill", "20", "--hold", "150", "--discipline", "choke", "--seed", "1"]
    (path,) = counters(forward, NULL, options)["paths"]
    assert_nothing_is_lost(path)
    assert path["dropped"]["match_arriving"] == path["dropped"]["match_queued"]
    assert path["queued"]["packets"] <= 150


def test_two_ports_are_a_pair(forward: Path) -> None:
    found = counters(forward, [*NULL, "--vdev=net_null1,size=64"], ["--packets", "10000", "--discipline", "droptail"])
    assert [(path["in"], path["out"]) for path in found["paths"]] == [(0, 1), (1, 0)]
    assert sum(path["received"]["packets"] for path in found["paths"]) == 10000
    for path in found["paths"]:
        assert_nothing_is_lost(path)


def test_three_ports_are_refused(forward: Path) -> None:
    done = run(forward, [f"--vdev=net_null{number}" for number in range(3)], ["--discipline", "droptail"])
    assert done.returncode == 2
    assert "forward: there are 3 ports; valid: one, or pairs" in done.stderr


def test_the_greedy_sender_loses_under_choke(forward: Path, crowd: Path) -> None:
    shares = {}
    for discipline, options in {"droptail": QUEUE, "choke": RED}.items():
        _, sent = through(forward, crowd, ["--discipline", discipline, *LINK, *options])
        senders = Counter(frames.Seen(frame).sender for frame in sent)
        assert len(senders) == 9
        shares[discipline] = senders[0] / len(sent)
    assert shares["droptail"] > 0.45
    assert shares["choke"] < shares["droptail"] - 0.1, shares


def test_the_link_has_its_rate(forward: Path, crowd: Path) -> None:
    """8000 packets of 250 bytes arrive in 1.6 s, in which 4000 leave; the queue stays full to the end."""
    path, sent = through(forward, crowd, ["--discipline", "droptail", *LINK, *QUEUE])
    assert abs(len(sent) - 4000) <= 1
    assert abs(path["queued"]["packets"] - 100) <= 1
    assert list(path["dropped"]) == ["overflow"]
    numbers = [frames.Seen(frame).number for frame in sent]
    assert numbers == sorted(numbers)


def test_a_run_in_virtual_time_repeats_itself(forward: Path, crowd: Path) -> None:
    options = ["--discipline", "choke", *LINK, *RED]
    first = through(forward, crowd, options)
    assert through(forward, crowd, options) == first
    assert through(forward, crowd, [*options, "--seed", "8"]) != first


def test_every_discipline_loses_nothing(forward: Path, tmp_path: Path) -> None:
    source = tmp_path / "some.pcap"
    frames.write(source, (frames.udp(number % 5, number, 300, ecn=number % 4) for number in range(1000)))
    names = disciplines(forward)
    assert len(names) > 30 and "choke" in names
    for name in [*names, "rte_red"]:
        path, _ = through(forward, source, ["--discipline", name, *LINK])
        assert path["received"]["packets"] == 1000, name


def test_a_shaper_of_the_discipline_is_waited_for(forward: Path, crowd: Path) -> None:
    """CAKE with a rate of its own, below that of the link, gives packets by its timer."""
    _, sent = through(forward, crowd, ["--discipline", "cake", *LINK, "rate=1e6", "overhead=0"])
    assert 700 < len(sent) < 900


@pytest.mark.parametrize(("version", "tagged"), [(4, False), (6, False), (4, True), (6, True)])
def test_marks_are_written_into_headers(forward: Path, tmp_path: Path, version: int, tagged: bool) -> None:
    """Packets that are ECN-capable arrive marked, the others as they were, all with a right checksum."""
    source = tmp_path / "capable.pcap"
    capability = [number % 3 for number in range(4000)]
    frames.write(
        source,
        (
            frames.udp(number % 7, number, 250, ecn=ecn, version=version, tagged=tagged)
            for number, ecn in enumerate(capability)
        ),
    )
    path, sent = through(forward, source, ["--discipline", "red", *LINK, *RED, "ecn=true"])
    seen = [frames.Seen(frame) for frame in sent]
    assert all(each.whole for each in seen)
    assert all(each.ecn in (3, capability[each.number]) for each in seen)
    marked = [each for each in seen if each.ecn == 3]
    assert not [each for each in marked if capability[each.number] == 0]
    # Those that wait at the end have not left.
    count = sum(cause["packets"] for cause in path["marked"].values())
    assert 0 < count - path["queued"]["packets"] <= len(marked) <= count


def test_flows_are_the_device_s_or_of_the_headers(forward: Path, tmp_path: Path) -> None:
    """In fair queueing the fourth packet leaves second where it is of another flow than the three before."""
    flags = {
        kind: subprocess.run(["pkg-config", kind, "libdpdk"], capture_output=True, text=True, check=True).stdout.split()
        for kind in ("--cflags", "--libs")
    }
    sources = [HERE / "flows.c", EXAMPLE / "queue.c", EXAMPLE / "options.c"]
    includes = [f"-I{EXAMPLE}", f"-I{ROOT / 'crates' / 'fairdrop-ffi' / 'include'}"]
    program = tmp_path / "flows"
    command = ["cc", "-std=gnu11", "-Wall", "-Wextra", "-Werror", *flags["--cflags"], *includes, *sources, LIBRARY]
    subprocess.run([*command, *flags["--libs"], "-o", program], timeout=PATIENCE_S, check=True)
    done = subprocess.run([program, *EAL], capture_output=True, text=True, timeout=PATIENCE_S, check=False)
    assert done.returncode == 0, done.stderr
    places = dict(line.split() for line in done.stdout.splitlines())
    assert places == {"same": "4", "ports": "2", "hashes": "2", "hash": "4", "without": "4"}


def test_counters_on_a_signal(forward: Path) -> None:
    command = [forward, *EAL, *NULL, "--", "--discipline", "choke", "--json", "--rate", "1000000"]
    with Work(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as work, ended_late(work):
        assert any(line.startswith("forward: 1 port") for line in work.stderr)
        work.send_signal(signal.SIGUSR1)
        early = json.loads(work.stdout.readline())
        work.send_signal(signal.SIGTERM)
        out, _ = work.communicate(timeout=PATIENCE_S)
    late = json.loads(out)
    assert work.returncode == 0
    for (path,) in (early["paths"], late["paths"]):
        assert_nothing_is_lost(path)
    assert early["paths"][0]["received"]["packets"] <= late["paths"][0]["received"]["packets"]


def test_counters_as_text(forward: Path) -> None:
    done = run(forward, NULL, ["--packets", "5000", "--discipline", "droptail", "--hold", "100", "limit=100"])
    assert done.returncode == 0, done.stderr
    first, *causes = done.stdout.splitlines()
    found = {name: int(count) for name, count in re.findall(r"(\w+) (\d+)", first.partition(": ")[2])}
    assert first.startswith("port 0 to 0: received 5000 ")
    assert found["received"] == found["sent"] + found["unsent"] + found["dropped"] + found["queued"]
    assert causes == [f"  dropped overflow {found['dropped']}"]


def test_interfaces_of_a_namespace(forward: Path) -> None:
    unshare = shutil.which("unshare")
    possible = [
        way
        for way in (["--net"], ["--user", "--map-root-user", "--net"])
        if unshare and not subprocess.run([unshare, *way, "ip", "link"], capture_output=True, check=False).returncode
    ]
    if not possible:
        pytest.skip("no network namespaces here (unshare --map-root-user --net)")
    words = ["--discipline", "choke", "--json"]
    command = ["unshare", *possible[0], sys.executable, HERE / "wire.py", forward, *EAL, "--", *words]
    done = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE_S, check=False)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert found["came"] == [[number, 7 * (number % 2)] for number in range(400)]
    there, back = found["counters"]["paths"]
    assert there["sent"] == there["received"] == {"packets": len(found["came"]), "bytes": 200 * len(found["came"])}
    assert_nothing_is_lost(back)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ([], "--discipline is missing: one of fairdrop's, rte_red or none"),
        (["--discipline", "chok"], 'there is no discipline "chok"; there are .* choke .*; also rte_red and none'),
        (["--discipline", "choke", "min_th=-1"], 'min_th = "-1" is not valid: packets from 0'),
        (["--discipline", "choke", "max_th=50"], "max_th = 50 is not valid: above min_th"),
        (["--discipline", "choke", "speed=1"], '"speed"'),
        (["--discipline", "choke", "ecn"], '"ecn" is not valid: an option .*, or a parameter as NAME=VALUE'),
        (["--discipline", "choke", "--rate", "fast"], '--rate = "fast" is not valid: a whole number from 0 .* bit/s'),
        (
            ["--discipline", "choke", "--rate", "-5"],
            '--rate = "-5" is not valid: a whole number from 0 to 1000000000000',
        ),
        (["--discipline", "choke", "--rate"], "--rate: its value is missing"),
        (["--discipline", "choke", "--virtual-time", "0"], '--virtual-time = "0" is not valid: a whole number from 1'),
        (["--discipline", "choke", "--packets", "1k"], '--packets = "1k" is not valid: a whole number from 0'),
        (["--discipline", "choke", "--hold", "301"], '--hold = "301" is not valid: at most the limit, 300'),
        (["--discipline", "choke", "--speed", "1"], "there is no option --speed"),
        (["--discipline", "rte_red", "min_th=2000"], 'min_th = "2000" is not valid: a whole number from 0 to 1023'),
        (["--discipline", "rte_red", "max_th=50"], "min_th = 100 is not valid: below max_th, which is 50"),
        (["--discipline", "rte_red", "ecn=1"], 'rte_red has no parameter "ecn"; there are limit, min_th, max_th'),
        (["--discipline", "none", "--rate", "5"], '--rate = "5" is not valid: 0, since --discipline none has no queue'),
        (["--discipline", "none", "limit=5"], '--discipline none has no parameter "limit"'),
    ],
)
def test_what_is_wrong_is_named(forward: Path, options: list[str], message: str) -> None:
    done = run(forward, NULL, options)
    assert (done.returncode, done.stdout) == (2, "")
    (line,) = done.stderr.splitlines()
    assert re.match(f"forward: .*{message}", line), line


def test_a_forgotten_separator(forward: Path) -> None:
    done = subprocess.run([forward, "--discipline", "choke"], capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 2
    assert done.stderr.startswith("forward: there is no --: EAL's options come before it")


def test_help_names_every_option(forward: Path) -> None:
    done = run(forward, [], ["--help"])
    assert done.returncode == 0
    text = (EXAMPLE / "options.c").read_text(encoding="utf-8")
    assert set(re.findall(r'name, "(--[\w-]+)"\) == 0', text)) - {"--help"} == set(
        re.findall(r"^  (--[\w-]+)", done.stdout, re.MULTILINE)
    )

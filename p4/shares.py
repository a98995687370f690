"""`make p4-shares`: CHOKe on the software switch BMv2, 16 kernel TCP flows and a UDP flow at twice the link's rate.

Needs root, p4c-bm2-ss, simple_switch and simple_switch_CLI in PATH, iperf3, ethtool and iproute2. All interfaces are in
three namespaces that this program makes and removes.
"""

import argparse
import contextlib
import json
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

P4 = Path(__file__).resolve().parent
NAMES = ("p4-source", "p4-switch", "p4-sink")
PROGRAMS = ("p4c-bm2-ss", "simple_switch", "simple_switch_CLI", "iperf3", "ethtool", "ip")
MTU_BYTES = 1000
# Packets of 1014 bytes on the wire.
LINK_PPS = 200
TCP_FLOWS = 16
UDP_BPS = 2 * LINK_PPS * 8 * MTU_BYTES
UDP_BYTES = MTU_BYTES - 28
UDP = P4 / "udp.py"


def run(*command, **more):
    """Runs a command to its end; its output."""
    ran = subprocess.run([str(part) for part in command], capture_output=True, text=True, check=False, **more)
    if ran.returncode:
        sys.exit(f"p4: {' '.join(map(str, command))}: {(ran.stdout + ran.stderr).strip()}")
    return ran.stdout


def inside(name, *command):
    return ["ip", "netns", "exec", name, *map(str, command)]


@contextlib.contextmanager
def namespaces():
    """Source and sink, each with a link to the switch."""
    try:
        for name in NAMES:
            run("ip", "netns", "add", name)
        # The switch's command line speaks to it over loopback.
        run(*inside(NAMES[1], "ip", "link", "set", "lo", "up"))
        for at, name in ((0, NAMES[0]), (1, NAMES[2])):
            run(
                "ip", "link", "add", f"p4p{at}", "netns", NAMES[1], "type", "veth", "peer", "name", "p4h", "netns", name
            )
            run(*inside(name, "ip", "address", "add", f"10.77.0.{at + 1}/24", "dev", "p4h"))
            run(
                *inside(
                    name, "ip", "link", "set", "p4h", "address", f"02:00:00:00:00:0{at + 1}", "mtu", MTU_BYTES, "up"
                )
            )
            run(
                *inside(
                    name,
                    "ip",
                    "neighbour",
                    "add",
                    f"10.77.0.{2 - at}",
                    "lladdr",
                    f"02:00:00:00:00:0{2 - at}",
                    "dev",
                    "p4h",
                )
            )
            run(*inside(NAMES[1], "ip", "link", "set", f"p4p{at}", "up"))
            for where, link in ((name, "p4h"), (NAMES[1], f"p4p{at}")):
                run(
                    *inside(
                        where, "ethtool", "-K", link, "tx", "off", "rx", "off", "tso", "off", "gso", "off", "gro", "off"
                    )
                )
        yield
    finally:
        for name in NAMES:
            subprocess.run(["ip", "netns", "delete", name], capture_output=True, check=False)


@contextlib.contextmanager
def started(*command, log=subprocess.DEVNULL):
    process = subprocess.Popen([str(part) for part in command], stdout=log, stderr=subprocess.STDOUT)
    try:
        yield process
    finally:
        process.terminate()
        process.wait()


def ask(*commands):
    """What the switch answers."""
    text = "\n".join(commands) + "\n"
    return run(*inside(NAMES[1], "simple_switch_CLI", "--thrift-port", 9090), input=text)


def configure(candidates, drops_queued):
    """Asks until the switch answers, then sets forwarding, CHOKe and the link."""
    command = inside(NAMES[1], "simple_switch_CLI", "--thrift-port", 9090)
    for _ in range(100):
        ready = subprocess.run(command, input="show_ports\n", capture_output=True, text=True, check=False)
        if "p4p1" in ready.stdout:
            break
        time.sleep(0.2)
    else:
        sys.exit(f"p4: the switch does not answer: {ready.stdout}{ready.stderr}")
    ask(
        "table_add ports forward 02:00:00:00:00:01 => 0",
        "table_add ports forward 02:00:00:00:00:02 => 1",
        # 30 and 60 packets, a max_p of 1/10, a weight of 2^-9, 300 packets, no ECN.
        f"table_set_default parameters set_parameters 30 60 {300 << 32} 9 {candidates} {drops_queued} 300 0 77",
        "set_queue_depth 400 1",
        f"set_queue_rate {LINK_PPS} 1",
    )


def counters():
    """Drops of port 1 by cause."""
    found = ask("register_read counters")
    values = [
        int(text) for text in found.split("counters=", 1)[1].splitlines()[0].replace("RuntimeCmd:", "").split(",")
    ]
    return dict(zip(("overflow", "early", "forced", "arriving match", "queued match"), values[8:13], strict=True))


def measure(program, candidates, drops_queued, seconds):
    """Throughput of TCP and UDP in kb/s, and drops."""
    switch = inside(NAMES[1], "simple_switch", "-i", "0@p4p0", "-i", "1@p4p1", "--thrift-port", 9090, program)
    with started(*switch):
        configure(candidates, drops_queued)
        # What the receivers count: a sender knows only what it has handed over.
        sinks = (("iperf3", "-s", "-1", "-J", "-p", 5201), (sys.executable, UDP, seconds))
        receiving = [
            subprocess.Popen(inside(NAMES[2], *sink), stdout=subprocess.PIPE, text=True) for sink in sinks
        ]
        tcp = ("iperf3", "-c", "10.77.0.2", "-p", 5201, "-t", 3 * seconds, "-P", TCP_FLOWS, "-C", "reno")
        sending = [subprocess.Popen(inside(NAMES[0], *tcp), stdout=subprocess.DEVNULL)]
        # TCP's connections come before the flood; what is counted is the time of both.
        time.sleep(seconds / 2)
        flood = inside(NAMES[0], sys.executable, UDP, seconds, "10.77.0.2", UDP_BPS)
        sending.append(subprocess.Popen(flood))
        of_tcp, of_udp = (json.loads(process.communicate()[0]) for process in receiving)
        for process in sending:
            process.wait()
        dropped = counters()
    begin, end = of_udp["first"] + seconds / 4, of_udp["first"] + seconds - 2
    start = of_tcp["start"]["timestamp"]["timesecs"]
    intervals = [one["sum"] for one in of_tcp["intervals"] if begin <= start + one["sum"]["start"] < end]
    return {
        "tcp_kbps": round(sum(one["bytes"] for one in intervals) * 8e-3 / sum(one["seconds"] for one in intervals), 1),
        "udp_kbps": round(sum(begin <= at < end for at in of_udp["at"]) * 8e-3 * UDP_BYTES / (end - begin), 1),
        "dropped": dropped,
    }


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--seconds", type=int, default=40, help="length of the flood")
    options = parser.parse_args()
    if absent := [name for name in PROGRAMS if not shutil.which(name)]:
        sys.exit(f"p4: not in PATH: {', '.join(absent)}")
    with tempfile.TemporaryDirectory() as folder, namespaces():
        program = Path(folder) / "choke.json"
        run("p4c-bm2-ss", "--std", "p4-16", "-o", program, P4 / "choke.p4")
        for name, candidates, drops_queued in (
            ("RED", 0, 0),
            ("CHOKe, arrivals alone", 1, 0),
            ("CHOKe, 2 candidates, arrivals alone", 2, 0),
            ("CHOKe", 1, 1),
        ):
            found = measure(program, candidates, drops_queued, options.seconds)
            print(f"{name}: {json.dumps(found)}", flush=True)


if __name__ == "__main__":
    main()

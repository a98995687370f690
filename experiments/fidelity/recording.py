"""Segments and acknowledgements of kernel TCP, recorded at the sender's interface in namespaces of its own.

    sender - veth - fairdropd bridge - veth - receiver

Segmentation offload is off, so that a packet is a segment. The namespaces end with the processes in them. Needs
Linux with user namespaces, iproute2, ethtool, dumpcap and tshark.

A recording is a text of lines; times in ns since the connection was opened, segments counted from 0:

    syn TIME
    syn-ack TIME
    sent TIME SEGMENT
    ack TIME NEXT STAMP [FIRST-LAST ...]     next segment expected; the echoed timestamp, ms; blocks of SACK
    info CWND SSTHRESH STATE SACKED LOST RETRANS REORDERING SRTT RTO
                                             TCP_INFO between the ACK above and the next; times in us
    info ... PACING_RATE BW MIN_RTT PACING_GAIN CWND_GAIN
                                             with BBR: TCP_CC_INFO as well; segments per second, us, gains in 256ths
"""

from __future__ import annotations

import contextlib
import os
import select
import shutil
import socket
import struct
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO

SENDER, RECEIVER, PORT = "10.93.0.1", "10.93.0.2", 5201
# Long waits are for machines that are busy; nothing is measured by them.
PATIENCE_S = 60
FIELDS = (
    "frame.time_epoch", "ip.src", "tcp.flags.syn", "tcp.seq", "tcp.ack", "tcp.len",
    "tcp.options.timestamp.tsval", "tcp.options.timestamp.tsecr", "tcp.options.sack_le", "tcp.options.sack_re",
)  # fmt: skip
MS = 1_000_000
# Ticks of the kernel's clock (jiffies) with CONFIG_HZ=250, its default.
TICK = 4 * MS
CLOCK_REALTIME_COARSE = 5
# Not in the module socket.
TCP_CC_INFO = 26


class NotPossible(Exception):
    """The machine does not let hosts be made, or a program is missing."""


def record(options: tuple[str, ...], control: str, seconds: float) -> str:
    """A recording of a bulk transfer under `control` over a bridge with these options."""
    for program in ("unshare", "ip", "ethtool", "dumpcap", "tshark"):
        if shutil.which(program) is None:
            raise NotPossible(f"{program} is not installed")
    with tempfile.TemporaryDirectory() as folder:
        inside = ["unshare", "--user", "--map-root-user", "--net", sys.executable, __file__]
        done = subprocess.run(
            [*inside, "bridge", folder, control, str(seconds), *options], capture_output=True, text=True, check=False
        )
        if done.returncode != 0:
            raise NotPossible(done.stderr.strip() or "unshare failed")
        return table(Path(folder))


# --- in the namespaces -----------------------------------------------------------------------------------------------


def run(*command: str) -> None:
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)


def host(role: str, *arguments: str) -> subprocess.Popen[str]:
    """A process of this file in a network namespace of its own, which it has when this returns."""
    command = ["unshare", "--net", sys.executable, __file__, role, *arguments]
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    expect(process, "ready")
    return process


def expect(process: subprocess.Popen[str], word: str) -> None:
    assert process.stdout
    while line := process.stdout.readline():
        if word in line:
            return
    raise SystemExit(f"{process.args}: ended without {word!r}")


def write_line(process: subprocess.Popen[str], word: str) -> None:
    assert process.stdin
    process.stdin.write(f"{word}\n")
    process.stdin.flush()


def bridge(folder: str, control: str, seconds: str, *options: str) -> None:
    """Makes the hosts and the bridge between them, and lets the sender send."""
    with contextlib.ExitStack() as stack:
        receiver = stack.enter_context(ending(host("receiver")))
        sender = stack.enter_context(ending(host("sender", folder, control, seconds)))
        for name, process in (("out0", sender), ("out1", receiver)):
            run("ip", "link", "add", "dev", name, "type", "veth", "peer", "name", "eth0")
            run("ip", "link", "set", "dev", "eth0", "netns", str(process.pid))
            run("ip", "link", "set", "dev", name, "up")
        for process in (receiver, sender):
            write_line(process, "go")
            expect(process, "up")
        fairdropd = shutil.which("fairdropd", path=f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}")
        if fairdropd is None:
            raise SystemExit("fairdropd is not installed")
        command = [fairdropd, "bridge", "out0", "out1", "--state", folder, *options]
        process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        stack.enter_context(ending(process))
        assert process.stderr
        logged = []
        while "bridged" not in (line := process.stderr.readline()):
            logged.append(line)
            if not line:
                raise SystemExit("".join(logged))
        threading.Thread(target=process.stderr.read, daemon=True).start()
        write_line(sender, "go")
        expect(sender, "done")


@contextlib.contextmanager
def ending(process: subprocess.Popen[str]) -> Iterator[subprocess.Popen[str]]:
    try:
        yield process
    finally:
        process.terminate()
        process.wait()


def bring_up(address: str, *settings: str) -> None:
    """Waits for the interface, and configures it."""
    print("ready", flush=True)
    sys.stdin.readline()
    for setting in settings:
        name, value = setting.split("=")
        Path("/proc/sys/net/ipv4", name).write_text(value)
    run("ethtool", "-K", "eth0", "tso", "off", "gso", "off", "gro", "off", "tx", "off")
    run("ip", "link", "set", "dev", "eth0", "gso_max_segs", "1")
    run("ip", "address", "add", f"{address}/24", "dev", "eth0")
    run("ip", "link", "set", "dev", "lo", "up")
    run("ip", "link", "set", "dev", "eth0", "up")


def receiver() -> None:
    """Reads and forgets."""
    bring_up(RECEIVER, "tcp_rmem=4096 131072 67108864")
    listening = socket.create_server((RECEIVER, PORT))
    print("up", flush=True)
    connection, _ = listening.accept()
    while connection.recv(1 << 20):
        pass


def sender(folder: str, control: str, seconds: str) -> None:
    """Sends for so long, with a capture beside it, and notes TCP_INFO."""
    bring_up(SENDER, "tcp_wmem=4096 1048576 67108864", "tcp_no_metrics_save=1")
    print("up", flush=True)
    sys.stdin.readline()
    capture = subprocess.Popen(
        ["dumpcap", "-q", "-i", "eth0", "-s", "120", "-f", f"tcp port {PORT}", "-w", f"{folder}/capture.pcapng"],
        stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    with ending(capture):
        assert capture.stderr
        while "File:" not in (line := capture.stderr.readline()):
            if not line:
                raise SystemExit("dumpcap ended")
        transfer(folder, control, float(seconds))
    print("done", flush=True)


def transfer(folder: str, control: str, seconds: float) -> None:
    """Sends for so long."""
    find_receiver()
    Path(folder, "tick").write_text(str(phase_of_ticks()))
    with socket.socket() as connection:
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, control.encode())
        connection.settimeout(PATIENCE_S)
        connection.connect((RECEIVER, PORT))
        connection.setblocking(False)
        with Path(folder, "info").open("wb") as file:
            send(connection, time.monotonic() + seconds, file, bbr_line if control == "bbr" else info_line)


def find_receiver() -> None:
    """Asks who has its address, so that the SYN need not wait for that: until a port is reported closed."""
    with socket.socket(type=socket.SOCK_DGRAM) as asking:
        asking.settimeout(1)
        asking.connect((RECEIVER, PORT))
        for _ in range(PATIENCE_S):
            with contextlib.suppress(TimeoutError):
                try:
                    asking.send(b"")
                    asking.recv(1)
                except ConnectionRefusedError:
                    return


def phase_of_ticks() -> int:
    """By how many ns the kernel's ticks are later than multiples of their length: then its coarse clock goes on."""
    phases: list[int] = []
    coarse = time.clock_gettime_ns(CLOCK_REALTIME_COARSE)
    while len(phases) < 15:
        while (changed := time.clock_gettime_ns(CLOCK_REALTIME_COARSE)) == coarse:
            pass
        phases.append(time.time_ns() % TICK)
        coarse = changed
    # On a busy machine some are seen late: the one soon after which most are.
    return max(phases, key=lambda phase: sum((other - phase) % TICK < TICK // 16 for other in phases))


def send(connection: socket.socket, until: float, file: IO[bytes], line: Callable[[socket.socket], str | None]) -> None:
    """Keeps the socket's buffer full, and writes `line` to `file` as often as it changes."""
    data, last = bytes(1 << 20), None
    poll = select.poll()
    poll.register(connection, select.POLLOUT)
    while time.monotonic() < until:
        if poll.poll(0):
            with contextlib.suppress(BlockingIOError):
                connection.send(data)
        short = line(connection)
        if short is not None and short != last:
            file.write(short.encode() + b"\n")
            last = short
        time.sleep(0.0001)


def bbr_line(connection: socket.socket) -> str | None:
    """As `info_line`, and what a recording says of BBR; nothing when something came in between."""
    before = info_line(connection)
    of_bbr = connection.getsockopt(socket.IPPROTO_TCP, TCP_CC_INFO, 20)
    info = tcp_info(connection)
    if info_line(connection) != before:
        return None
    (mss,) = struct.unpack_from("=I", info, 16)
    (pacing_rate,) = struct.unpack_from("=Q", info, 104)
    bw, min_rtt, pacing_gain, cwnd_gain = struct.unpack("=QIII", of_bbr)
    return f"{before} {pacing_rate / mss:.3f} {bw / mss:.3f} {min_rtt} {pacing_gain} {cwnd_gain}"


def tcp_info(connection: socket.socket) -> bytes:
    return connection.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 232)


def info_line(connection: socket.socket) -> str:
    """Packets that have come in so far, segments sent and bytes acknowledged, and what a recording says of TCP_INFO."""
    info = tcp_info(connection)
    state = info[1]
    values = struct.unpack_from("=24I", info, 8)
    rto, sacked, lost, retrans = values[0], *values[5:8]
    rtt, ssthresh, cwnd, reordering = values[15], values[17], values[18], values[20]
    (acked,) = struct.unpack_from("=Q", info, 120)
    (came,) = struct.unpack_from("=I", info, 140)
    (sent,) = struct.unpack_from("=I", info, 156)
    return f"{came} {sent} {acked} {cwnd} {ssthresh} {state} {sacked} {lost} {retrans} {reordering} {rtt} {rto}"


# --- what was captured -----------------------------------------------------------------------------------------------


def table(folder: Path) -> str:
    """The recording in a folder, as text."""
    command = [
        "tshark",
        "-o",
        "tcp.relative_sequence_numbers:FALSE",
        "-r",
        f"{folder}/capture.pcapng",
        "-T",
        "fields",
        "-E",
        "separator=;",
    ]
    for field in FIELDS:
        command += ["-e", field]
    text = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    packets = [line.split(";") for line in text.splitlines()]
    infos: dict[tuple[int, int], tuple[int, str]] = {}
    for line in (folder / "info").read_text().splitlines():
        came, sent, acked, values = line.split(" ", 3)
        infos[int(came), int(sent)] = int(acked), values
    phase = int((folder / "tick").read_text())
    return "\n".join(lines(packets, infos, phase)) + "\n"


def nanoseconds(text: str) -> int:
    whole, part = text.split(".")
    return int(whole) * 1_000_000_000 + int(part.ljust(9, "0")[:9])


def lines(packets: list[list[str]], infos: dict[tuple[int, int], tuple[int, str]], phase: int) -> Iterator[str]:
    """The lines of a recording. Its milliseconds begin when those of the timestamps do, and every fourth about when a
    tick of the kernel, which is `phase` ns late, does.

    `infos` are the bytes acknowledged, and the line of TCP_INFO, by the number of packets that had come and the number
    of segments that had been sent.
    """
    ours = [packet for packet in packets if packet[1] == SENDER]
    start_stamp, start_sequence = int(ours[0][6]), int(ours[0][3]) + 1
    zero = min(nanoseconds(packet[0]) - (int(packet[6]) - start_stamp) * MS for packet in ours)
    shift = round((zero - phase) % TICK / MS) % (TICK // MS)
    zero, start_stamp = zero - shift * MS, start_stamp - shift
    mss = max(int(packet[5]) for packet in ours)

    def segment(sequence: str) -> int:
        return ((int(sequence) - start_sequence) & 0xFFFF_FFFF) // mss

    came = sent = una = 0
    for packet in packets:
        at, source, is_syn, sequence, acked, length, _, echo, firsts, ends = packet
        now = nanoseconds(at) - zero
        if source == SENDER:
            if is_syn == "1":
                yield f"syn {now}"
            elif int(length) > 0:
                if int(length) != mss:
                    # The last of what was written.
                    return
                sent += 1
                yield f"sent {now} {segment(sequence)}"
            continue
        # A packet counts when it comes, but the socket may be at work with the one before.
        counted, values = infos.get((came, sent), (0, ""))
        if values and came > 1 and counted // mss == una:
            yield f"info {values}"
        came += 1
        if is_syn == "1":
            yield f"syn-ack {now}"
            continue
        una = max(una, segment(acked))
        edges = zip(firsts.split(","), ends.split(","), strict=True)
        blocks = [f"{segment(first)}-{segment(end) - 1}" for first, end in edges if first]
        yield " ".join([f"ack {now} {segment(acked)} {int(echo) - start_stamp}", *blocks])


if __name__ == "__main__":
    roles = {"bridge": bridge, "receiver": receiver, "sender": sender}
    roles[sys.argv[1]](*sys.argv[2:])

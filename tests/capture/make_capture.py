#!/usr/bin/env python3
"""Make a packet capture to replay: real kernel traffic if possible, else a synthetic one.

    make_capture.py OUT.pcap [--seconds 8] [--synthetic]

Kernel mode builds sender - router - receiver out of network namespaces, sends bulk TCP and
constant-rate UDP through a shaped link, and records the frames on the router's sender-side
interface, that is in front of the bottleneck. It needs root and iproute2. Without them, or
with --synthetic, a small deterministic capture is written instead.

Prints one JSON line on stdout; progress goes to stderr.
"""

from __future__ import annotations

import argparse
import contextlib
import ctypes
import fcntl
import json
import os
import random
import re
import select
import shutil
import signal
import socket
import struct
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from types import FrameType
from typing import IO, Any

NS = 1_000_000_000
SNAP = 128
MAX_FILE_BYTES = 19_000_000
MAX_PACKETS = (MAX_FILE_BYTES - 24) // (16 + SNAP)
MIN_PACKETS = 100
MAX_FRAME = 1514

LINK_BPS = 50_000_000
LINK_QUEUE_BYTES = 150_000
TCP_FLOWS = 4
UDP_BPS = 20_000_000
UDP_PAYLOAD = 1200
TCP_PORT, UDP_PORT, ECHO_PORT = 5201, 5301, 5401
SENDER4, ROUTER_A4, ROUTER_B4, RECEIVER4 = "10.77.1.2", "10.77.1.1", "10.77.2.1", "10.77.2.2"
SENDER6, ROUTER_A6, ROUTER_B6, RECEIVER6 = "fd77:1::2", "fd77:1::1", "fd77:2::1", "fd77:2::2"
STALE_NAME = re.compile(r"fairdrop-(\d+)-[arb]")


@dataclass(frozen=True)
class Record:
    """One captured frame: time since the epoch in ns, its full length, its first bytes."""

    time_ns: int
    length: int
    data: bytes


@dataclass(frozen=True)
class Summary:
    packets: int
    bytes: int
    seconds: float


def log(text: str) -> None:
    print(f"make_capture: {text}", file=sys.stderr, flush=True)


def write_pcap(path: Path, records: list[Record]) -> Summary:
    """Classic pcap, little endian, nanosecond time stamps, Ethernet."""
    ordered = sorted(records, key=lambda record: record.time_ns)
    with path.open("wb") as out:
        out.write(struct.pack("<IHHiIII", 0xA1B23C4D, 2, 4, 0, 0, SNAP, 1))
        for record in ordered:
            seconds, nanos = divmod(record.time_ns, NS)
            out.write(struct.pack("<IIII", seconds, nanos, len(record.data), record.length))
            out.write(record.data)
    span = (ordered[-1].time_ns - ordered[0].time_ns) / NS if ordered else 0.0
    return Summary(len(ordered), sum(record.length for record in ordered), span)


# --- synthetic capture ---------------------------------------------------------------------

SYNTHETIC_EPOCH_NS = 1_700_000_000 * NS
SYNTHETIC_UDP_BPS = 6_000_000  # more than half of a 10 Mb/s link
SYNTHETIC_TCP_FLOWS = 8
SYNTHETIC_MSS = 1448
ACK, SYN, FIN, PSH = 0x10, 0x02, 0x01, 0x08
DON_T_FRAGMENT, MORE_FRAGMENTS = 0x4000, 0x2000
MAC_LEFT, MAC_RIGHT = bytes.fromhex("020000000001"), bytes.fromhex("020000000002")


def checksum(data: bytes) -> int:
    if len(data) % 2:
        data += b"\0"
    total = int(sum(struct.unpack(f"!{len(data) // 2}H", data)))
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    return ~total & 0xFFFF


def ethernet(payload: bytes, ethertype: int, back: bool = False) -> bytes:
    ends = (MAC_LEFT, MAC_RIGHT) if back else (MAC_RIGHT, MAC_LEFT)
    return ends[0] + ends[1] + struct.pack("!H", ethertype) + payload


def ipv4(source: str, dest: str, protocol: int, payload: bytes, ident: int, fragment: int) -> bytes:
    """An IPv4 packet; `fragment` is the whole flags-and-offset field."""
    head = struct.pack("!BBHHHBBH", 0x45, 0, 20 + len(payload), ident & 0xFFFF, fragment, 64, protocol, 0)
    head += socket.inet_aton(source) + socket.inet_aton(dest)
    return head[:10] + struct.pack("!H", checksum(head)) + head[12:] + payload


def ipv6(source: str, dest: str, protocol: int, payload: bytes) -> bytes:
    head = struct.pack("!IHBB", 0x60000000, len(payload), protocol, 64)
    return head + address_bytes(source) + address_bytes(dest) + payload


def address_bytes(address: str) -> bytes:
    return socket.inet_pton(socket.AF_INET6 if ":" in address else socket.AF_INET, address)


def pseudo_header(source: str, dest: str, protocol: int, length: int) -> bytes:
    shape = "!II" if ":" in source else "!HH"
    numbers = (length, protocol) if ":" in source else (protocol, length)
    return address_bytes(source) + address_bytes(dest) + struct.pack(shape, *numbers)


def udp(source: str, dest: str, ports: tuple[int, int], payload: bytes) -> bytes:
    length = 8 + len(payload)
    body = struct.pack("!HHHH", *ports, length, 0) + payload
    value = checksum(pseudo_header(source, dest, 17, length) + body) or 0xFFFF
    return body[:6] + struct.pack("!H", value) + payload


@dataclass
class TcpSide:
    """What is needed to write one direction of a TCP connection."""

    source: str
    dest: str
    ports: tuple[int, int]
    sequence: int
    back: bool
    ident: int = 0

    def frame(self, flags: int, acknowledged: int, size: int, stamp: int) -> bytes:
        options = struct.pack("!BBBBII", 1, 1, 8, 10, stamp & 0xFFFFFFFF, 0)
        head = struct.pack("!HHIIBBHHH", *self.ports, self.sequence, acknowledged, 0x80, flags, 501, 0, 0)
        body = head + options + bytes(size)
        value = checksum(pseudo_header(self.source, self.dest, 6, len(body)) + body)
        body = body[:16] + struct.pack("!H", value) + body[18:]
        self.ident += 1
        self.sequence = (self.sequence + size + bool(flags & (SYN | FIN))) & 0xFFFFFFFF
        packet = ipv4(self.source, self.dest, 6, body, self.ident, DON_T_FRAGMENT)
        return ethernet(packet, 0x0800, self.back)


@dataclass
class TcpFlow:
    """An on/off source that sends a window per round trip, grows it by one and halves it."""

    number: int
    end_ns: int
    chance: random.Random
    frames: list[tuple[int, bytes]] = field(default_factory=list)

    def __post_init__(self) -> None:
        ours, theirs = f"10.1.0.{self.number + 1}", "10.2.0.1"
        port = 40_000 + self.number
        self.ours = TcpSide(ours, theirs, (port, 80), 1000 * self.number, back=False)
        self.theirs = TcpSide(theirs, ours, (80, port), 7000 * self.number, back=True)

    def add(self, at: int, side: TcpSide, flags: int, size: int = 0) -> None:
        other = self.theirs if side is self.ours else self.ours
        acknowledged = other.sequence if flags & ACK else 0
        self.frames.append((at, side.frame(flags, acknowledged, size, at // 1_000_000)))

    def connect(self, at: int, half_trip: int) -> int:
        self.add(at, self.ours, SYN)
        self.add(at + half_trip, self.theirs, SYN | ACK)
        self.add(at + 2 * half_trip, self.ours, ACK)
        return at + 2 * half_trip + 100_000

    def round_trip(self, at: int, window: int, half_trip: int) -> None:
        spacing = 121_000  # back to back on a 100 Mb/s access link
        for index in range(window):
            sent = at + index * spacing
            self.add(sent, self.ours, ACK | PSH, SYNTHETIC_MSS)
            if index % 2:
                self.add(sent + half_trip, self.theirs, ACK)

    def run(self) -> list[tuple[int, bytes]]:
        half_trip = 10_000_000 + 2_500_000 * self.number
        at = self.connect(50_000_000 * self.number + self.chance.randrange(20_000_000), half_trip)
        window = 2
        pause_at = at + 400_000_000 + self.chance.randrange(800_000_000)
        last = self.end_ns - 6 * half_trip
        finished = at
        while at < last:
            self.round_trip(at, window, half_trip)
            at += 2 * half_trip + self.chance.randrange(1_000_000)
            finished = at
            window = window // 2 if window > 4 and self.chance.random() < window / 60 else window + 1
            if at > pause_at:
                at += 100_000_000 + self.chance.randrange(500_000_000)
                pause_at = at + 400_000_000 + self.chance.randrange(800_000_000)
                window = 2
        self.add(finished + half_trip, self.ours, FIN | ACK)
        self.add(finished + 2 * half_trip, self.theirs, FIN | ACK)
        self.add(finished + 3 * half_trip, self.ours, ACK)
        return self.frames


def every(period_ns: int, first_ns: int, end_ns: int) -> Iterator[tuple[int, int]]:
    yield from enumerate(range(first_ns, end_ns, period_ns))


def synthetic_udp(end_ns: int) -> Iterator[tuple[int, bytes]]:
    source, dest = "10.1.0.100", "10.2.0.1"
    body = udp(source, dest, (50_000, 5001), bytes(UDP_PAYLOAD))
    period = (14 + 20 + len(body)) * 8 * NS // SYNTHETIC_UDP_BPS
    for index, at in every(period, 5_000_000, end_ns):
        yield at, ethernet(ipv4(source, dest, 17, body, index, DON_T_FRAGMENT), 0x0800)


def synthetic_ipv6(end_ns: int) -> Iterator[tuple[int, bytes]]:
    body = udp("fd00::1", "fd00::2", (50_001, 53), bytes(120))
    for _, at in every(100_000_000, 37_000_000, end_ns):
        yield at, ethernet(ipv6("fd00::1", "fd00::2", 17, body), 0x86DD)


def synthetic_vlan(end_ns: int) -> Iterator[tuple[int, bytes]]:
    source, dest = "10.3.0.1", "10.3.0.2"
    body = udp(source, dest, (50_002, 5002), bytes(400))
    for index, at in every(250_000_000, 61_000_000, end_ns):
        packet = ipv4(source, dest, 17, body, index, DON_T_FRAGMENT)
        yield at, ethernet(struct.pack("!HH", 42, 0x0800) + packet, 0x8100)


def synthetic_arp(end_ns: int) -> Iterator[tuple[int, bytes]]:
    left, right = socket.inet_aton("10.1.0.1"), socket.inet_aton("10.1.0.254")
    for _, at in every(NS, 1_000_000, end_ns):
        ask = struct.pack("!HHBBH", 1, 0x0800, 6, 4, 1) + MAC_LEFT + left + bytes(6) + right
        answer = struct.pack("!HHBBH", 1, 0x0800, 6, 4, 2) + MAC_RIGHT + right + MAC_LEFT + left
        yield at, b"\xff" * 6 + MAC_LEFT + struct.pack("!H", 0x0806) + ask.ljust(46, b"\0")
        yield at + 200_000, ethernet(answer.ljust(46, b"\0"), 0x0806, back=True)


def synthetic_fragments(end_ns: int) -> Iterator[tuple[int, bytes]]:
    source, dest = "10.1.0.101", "10.2.0.1"
    body = udp(source, dest, (50_003, 5003), bytes(2000))
    first, second = body[:1480], body[1480:]
    for index, at in every(500_000_000, 83_000_000, end_ns):
        yield at, ethernet(ipv4(source, dest, 17, first, index, MORE_FRAGMENTS), 0x0800)
        yield at + 121_000, ethernet(ipv4(source, dest, 17, second, index, len(first) // 8), 0x0800)


def synthetic_records(seconds: float) -> list[Record]:
    end_ns = int(seconds * NS)
    frames: list[tuple[int, bytes]] = []
    for number in range(SYNTHETIC_TCP_FLOWS):
        frames += TcpFlow(number, end_ns, random.Random(1000 + number)).run()
    for make in (synthetic_udp, synthetic_ipv6, synthetic_vlan, synthetic_arp, synthetic_fragments):
        frames += make(end_ns)
    frames.sort(key=lambda item: item[0])
    return [Record(SYNTHETIC_EPOCH_NS + at, len(data), data[:SNAP]) for at, data in frames[:MAX_PACKETS]]


# --- roles: what runs inside a namespace ---------------------------------------------------

SIOCETHTOOL = 0x8946
# TSO, GSO, GRO and checksum offload: without them a veth passes 64 kB super-packets around,
# and leaves checksums to hardware that does not exist.
ETHTOOL_SWITCHES = {"tso": 0x1F, "gso": 0x24, "gro": 0x2C, "tx-checksum": 0x17}
SO_TIMESTAMPNS = 35
SO_RCVBUFFORCE = 33
SO_MAX_PACING_RATE = 47
SOL_PACKET, PACKET_STATISTICS, PACKET_ADD_MEMBERSHIP = 263, 6, 1
PACKET_MR_PROMISC = 1
ETH_P_ALL = 3


def switch_off_offloads() -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as control:
        for _, name in socket.if_nameindex():
            if name == "lo":
                continue
            for feature, command in ETHTOOL_SWITCHES.items():
                if not ethtool_off(control, name, command):
                    log(f"{name}: cannot switch off {feature}")
                    if feature in ("tso", "gso"):
                        subprocess.run(["ip", "link", "set", name, "gso_max_segs", "1"], check=False)


def ethtool_off(control: socket.socket, name: str, command: int) -> bool:
    value = ctypes.create_string_buffer(struct.pack("=II", command, 0))
    request = struct.pack("16sQ16x", name.encode(), ctypes.addressof(value))
    try:
        fcntl.ioctl(control, SIOCETHTOOL, request)
    except OSError:
        return False
    return True


def exit_with_parent() -> None:
    """End when stdin closes: a killed controller leaves no process behind."""

    def watch() -> None:
        while os.read(0, 1):
            pass
        os._exit(3)

    threading.Thread(target=watch, daemon=True).start()


def say_ready() -> None:
    print("ready", flush=True)


def open_tap(interface: str) -> socket.socket:
    tap = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 0)
    with contextlib.suppress(OSError):
        tap.setsockopt(socket.SOL_SOCKET, SO_RCVBUFFORCE, 64 << 20)
    tap.setsockopt(socket.SOL_SOCKET, SO_TIMESTAMPNS, 1)
    tap.bind((interface, ETH_P_ALL))
    tap.setblocking(False)
    return tap


def kernel_time(ancillary: list[tuple[int, int, bytes]]) -> int:
    for level, kind, data in ancillary:
        if level == socket.SOL_SOCKET and kind == SO_TIMESTAMPNS:
            seconds, nanos = struct.unpack("@ll", data[: struct.calcsize("@ll")])
            return int(seconds) * NS + int(nanos)
    return time.time_ns()


def drain(tap: socket.socket, records: list[Record], snap: bytearray) -> None:
    # recvmsg_into, because only it returns the full length of a truncated frame.
    while len(records) < MAX_PACKETS:
        try:
            length, ancillary, _, address = tap.recvmsg_into([snap], 64, socket.MSG_TRUNC)
        except BlockingIOError:
            return
        # Only what arrives at the router on its way to the bottleneck: answers never meet that queue.
        if address[2] == socket.PACKET_OUTGOING:
            continue
        records.append(Record(kernel_time(ancillary), length, bytes(snap[: min(length, SNAP)])))


def role_capture(args: argparse.Namespace) -> int:
    """Record until stdin says `finish`; when it just closes, leave without a file."""
    switch_off_offloads()
    tap = open_tap(args.interface)
    records: list[Record] = []
    snap = bytearray(SNAP)
    deadline = time.monotonic() + args.seconds + 30
    say_ready()
    finish = False
    while not finish and time.monotonic() < deadline and len(records) < MAX_PACKETS:
        readable, _, _ = select.select([tap.fileno(), 0], [], [], 1.0)
        if 0 in readable:
            if not os.read(0, 64):
                return 3
            finish = True
        drain(tap, records, snap)
    lost = struct.unpack("=II", tap.getsockopt(SOL_PACKET, PACKET_STATISTICS, 8))[1]
    summary = write_pcap(Path(args.out), records)
    oversized = sum(record.length > MAX_FRAME for record in records)
    print(json.dumps({**summary.__dict__, "lost": lost, "oversized": oversized}), flush=True)
    return 0


def discard(connection: socket.socket) -> None:
    with connection, contextlib.suppress(OSError):
        buffer = bytearray(1 << 18)
        while connection.recv_into(buffer):
            pass


def accept_all(listener: socket.socket) -> None:
    while True:
        connection, _ = listener.accept()
        threading.Thread(target=discard, args=(connection,), daemon=True).start()


def discard_datagrams(receiver: socket.socket) -> None:
    buffer = bytearray(2048)
    while True:
        receiver.recv_into(buffer)


def echo(receiver: socket.socket) -> None:
    while True:
        data, sender = receiver.recvfrom(2048)
        receiver.sendto(data, sender)


def role_receive(args: argparse.Namespace) -> int:
    switch_off_offloads()
    exit_with_parent()
    work: list[tuple[Callable[[socket.socket], None], socket.socket]] = [
        (accept_all, socket.create_server((RECEIVER4, TCP_PORT)))
    ]
    datagrams = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    datagrams.bind((RECEIVER4, UDP_PORT))
    work.append((discard_datagrams, datagrams))
    if args.ipv6:
        work.append((accept_all, socket.create_server((RECEIVER6, TCP_PORT), family=socket.AF_INET6)))
        echoes = socket.socket(socket.AF_INET6, socket.SOCK_DGRAM)
        echoes.bind((RECEIVER6, ECHO_PORT))
        work.append((echo, echoes))
    for target, sock in work:
        threading.Thread(target=target, args=(sock,), daemon=True).start()
    say_ready()
    time.sleep(args.seconds + 30)
    return 0


def bulk_transfer(number: int, seconds: float, pace: bool) -> None:
    """One TCP sender; Reno and CUBIC take turns, whatever the kernel has of them."""
    time.sleep(min(0.2 * number, seconds / 4))
    end = time.monotonic() + seconds - min(0.2 * number, seconds / 4)
    budget = int(LINK_BPS / 8 * seconds)
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as sender:
        with contextlib.suppress(OSError):
            sender.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, (b"reno", b"cubic")[number % 2])
        if pace:
            sender.setsockopt(socket.SOL_SOCKET, SO_MAX_PACING_RATE, LINK_BPS // 8 // TCP_FLOWS)
        # A small send buffer, so that little is left to drain when the time is over.
        sender.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 1 << 18)
        sender.settimeout(2.0)
        sender.connect((RECEIVER4, TCP_PORT))
        block = bytes(1 << 15)
        while budget > 0 and time.monotonic() < end:
            budget -= sender.send(block)


def role_send_tcp(args: argparse.Namespace) -> int:
    switch_off_offloads()
    exit_with_parent()
    failures: list[str] = []

    def run(number: int) -> None:
        try:
            bulk_transfer(number, args.seconds, args.pace)
        except OSError as error:
            failures.append(f"TCP sender {number}: {error}")

    threads = [threading.Thread(target=run, args=(number,)) for number in range(TCP_FLOWS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for failure in failures:
        log(failure)
    return 1 if len(failures) == TCP_FLOWS else 0


def constant_rate(seconds: float) -> None:
    gap = (UDP_PAYLOAD + 42) * 8 / UDP_BPS
    payload = bytes(UDP_PAYLOAD)
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sender:
        sender.connect((RECEIVER4, UDP_PORT))
        due = time.monotonic()
        end = due + seconds
        while (now := time.monotonic()) < end:
            if now < due:
                time.sleep(due - now)
                continue
            with contextlib.suppress(OSError):
                sender.send(payload)
            # After a stall do not send the arrears as one burst.
            due = max(due + gap, now - 0.01)


def ipv6_traffic(seconds: float) -> None:
    """A short TCP transfer and datagrams that are echoed."""
    end = time.monotonic() + seconds
    with contextlib.suppress(OSError), socket.create_connection((RECEIVER6, TCP_PORT), 5.0) as sender:
        sender.sendall(bytes(60_000))
    with socket.socket(socket.AF_INET6, socket.SOCK_DGRAM) as sender:
        sender.settimeout(0.05)
        sender.connect((RECEIVER6, ECHO_PORT))
        while time.monotonic() < end:
            with contextlib.suppress(OSError):
                sender.send(bytes(200))
                sender.recv(2048)
            time.sleep(0.05)


def role_send_udp(args: argparse.Namespace) -> int:
    switch_off_offloads()
    exit_with_parent()
    if args.ipv6:
        threading.Thread(target=ipv6_traffic, args=(args.seconds,), daemon=True).start()
    constant_rate(args.seconds)
    return 0


ROLES: dict[str, Callable[[argparse.Namespace], int]] = {
    "capture": role_capture,
    "receive": role_receive,
    "send-tcp": role_send_tcp,
    "send-udp": role_send_udp,
}


# --- controller ----------------------------------------------------------------------------


class KernelUnavailable(Exception):
    """Real traffic cannot be made here; the text says why."""


class Stopped(Exception):
    """A signal asked to stop."""


class StopFlag:
    """Signals only set a flag, so that no step is cut in half and clean-up always runs whole."""

    def __init__(self) -> None:
        self.signal_number = 0
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, self._set)
        if signal.getsignal(signal.SIGHUP) is not signal.SIG_IGN:  # ignored under nohup
            signal.signal(signal.SIGHUP, self._set)

    def _set(self, number: int, _frame: FrameType | None) -> None:
        self.signal_number = self.signal_number or number

    def check(self) -> None:
        if self.signal_number:
            raise Stopped(signal.Signals(self.signal_number).name)


def run_tool(*argv: str, check: bool = True) -> bool:
    """Run ip or tc in its own session: an interrupt from the terminal must not cut it short."""
    try:
        done = subprocess.run(
            argv, capture_output=True, text=True, timeout=20, check=False, start_new_session=True
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise KernelUnavailable(f"{argv[0]}: {error}") from error
    if check and done.returncode != 0:
        why = (done.stderr or done.stdout).strip().splitlines()
        raise KernelUnavailable(f"{' '.join(argv)}: {why[0] if why else done.returncode}")
    return done.returncode == 0


def remove_stale_namespaces() -> None:
    """Namespaces of earlier runs that were killed outright: ours by name, their process gone."""
    directory = Path("/run/netns")
    for entry in directory.iterdir() if directory.is_dir() else ():
        match = STALE_NAME.fullmatch(entry.name)
        if match and not Path("/proc", match[1]).exists():
            log(f"removing {entry.name}, left by a process that was killed")
            run_tool("ip", "netns", "delete", entry.name, check=False)


class Network:
    """sender (a) - router (r) - receiver (b), with the bottleneck on the router's b side."""

    def __init__(self, stop: StopFlag) -> None:
        self.stop = stop
        self.a, self.r, self.b = (f"fairdrop-{os.getpid()}-{end}" for end in "arb")
        self.ipv6 = Path("/proc/sys/net/ipv6").is_dir()
        self.shaped = False

    def ip(self, namespace: str, *words: str) -> None:
        self.stop.check()
        run_tool("ip", "-n", namespace, *words)

    def build(self) -> None:
        for namespace in (self.a, self.r, self.b):
            self.stop.check()
            run_tool("ip", "netns", "add", namespace)
            self.switch(namespace)
        # Both ends are created inside the namespaces: the host never sees them.
        self.ip(self.r, "link", "add", "ra", "type", "veth", "peer", "name", "a0", "netns", self.a)
        self.ip(self.r, "link", "add", "rb", "type", "veth", "peer", "name", "b0", "netns", self.b)
        self.address(self.a, "a0", SENDER4, SENDER6)
        self.address(self.r, "ra", ROUTER_A4, ROUTER_A6)
        self.address(self.r, "rb", ROUTER_B4, ROUTER_B6)
        self.address(self.b, "b0", RECEIVER4, RECEIVER6)
        self.route(self.a, ROUTER_A4, ROUTER_A6)
        self.route(self.b, ROUTER_B4, ROUTER_B6)
        self.shape()

    def address(self, namespace: str, device: str, four: str, six: str) -> None:
        self.ip(namespace, "addr", "add", f"{four}/24", "dev", device)
        if self.ipv6:
            try:
                self.ip(namespace, "addr", "add", f"{six}/64", "dev", device, "nodad")
            except KernelUnavailable as error:
                log(f"no IPv6 traffic: {error}")
                self.ipv6 = False
        self.ip(namespace, "link", "set", device, "up")

    def route(self, namespace: str, four: str, six: str) -> None:
        self.ip(namespace, "route", "add", "default", "via", four)
        if self.ipv6:
            self.ip(namespace, "-6", "route", "add", "default", "via", six)

    def switch(self, namespace: str) -> None:
        """Forward packets, and use IPv6 addresses at once instead of probing for duplicates first."""
        settings = {"ipv4/ip_forward": 1}
        if self.ipv6:
            settings |= {f"ipv6/conf/{which}/accept_dad": 0 for which in ("all", "default")}
            settings["ipv6/conf/all/forwarding"] = 1
        command = "; ".join(f"echo {value} > /proc/sys/net/{name}" for name, value in settings.items())
        run_tool("ip", "netns", "exec", namespace, "sh", "-c", command)

    def shape(self) -> None:
        """50 Mb/s towards the receiver by TBF or HTB, and 5 ms for the way back where netem exists."""
        rate, limit = f"{LINK_BPS // 1_000_000}mbit", str(LINK_QUEUE_BYTES)
        on_rb = ("tc", "-n", self.r, "qdisc", "add", "dev", "rb")
        if shutil.which("tc") is None:
            log("no tc: TCP senders pace themselves instead of meeting a bottleneck")
            return
        tbf = ("tbf", "rate", rate, "burst", "32kb", "limit", limit)
        self.shaped = run_tool(*on_rb, "root", *tbf, check=False)
        if not self.shaped:
            class_words = ("class", "add", "dev", "rb", "parent", "1:", "classid", "1:1", "htb", "rate", rate)
            self.shaped = (
                run_tool(*on_rb, "root", "handle", "1:", "htb", "default", "1", check=False)
                and run_tool("tc", "-n", self.r, *class_words, check=False)
                and run_tool(*on_rb, "parent", "1:1", "bfifo", "limit", limit, check=False)
            )
        delay = ("root", "netem", "delay", "5ms", "limit", "10000")
        delayed = run_tool("tc", "-n", self.b, "qdisc", "add", "dev", "b0", *delay, check=False)
        log(f"bottleneck {rate if self.shaped else 'missing'}, delay {'5 ms' if delayed else 'missing'}")

    def remove(self) -> None:
        for namespace in (self.a, self.r, self.b):
            if Path("/run/netns", namespace).exists():
                with contextlib.suppress(KernelUnavailable):
                    run_tool("ip", "netns", "delete", namespace, check=False)


class Children:
    """The processes inside the namespaces."""

    def __init__(self, stop: StopFlag) -> None:
        self.stop = stop
        self.all: list[tuple[str, subprocess.Popen[bytes]]] = []

    def start(self, namespace: str, role: str, *words: str) -> subprocess.Popen[bytes]:
        self.stop.check()
        me = str(Path(__file__).resolve())
        child = subprocess.Popen(
            ["ip", "netns", "exec", namespace, sys.executable, me, "--role", role, *words],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            start_new_session=True,
        )
        self.all.append((role, child))
        return child

    def line(self, child: subprocess.Popen[bytes], timeout: float) -> str:
        """The next line a child prints, looking at the stop flag while it is awaited."""
        assert child.stdout is not None
        end = time.monotonic() + timeout
        collected = b""
        while not collected.endswith(b"\n"):
            self.stop.check()
            readable, _, _ = select.select([child.stdout], [], [], 0.1)
            if readable:
                piece = os.read(child.stdout.fileno(), 4096)
                if not piece:
                    raise KernelUnavailable(f"{self.role_of(child)} ended early, status {child.wait()}")
                collected += piece
            elif time.monotonic() > end:
                raise KernelUnavailable(f"{self.role_of(child)} did not answer within {timeout:g} s")
        return collected.decode()

    def role_of(self, child: subprocess.Popen[bytes]) -> str:
        return next(role for role, known in self.all if known is child)

    def wait(
        self,
        children: list[subprocess.Popen[bytes]],
        capture: subprocess.Popen[bytes],
        timeout: float,
    ) -> None:
        """Until the senders are done, or the capture is full."""
        end = time.monotonic() + timeout
        while any(child.poll() is None for child in children):
            self.stop.check()
            if capture.poll() is not None:
                return
            if time.monotonic() > end:
                raise KernelUnavailable("the senders did not end in time")
            time.sleep(0.05)
        for child in children:
            if child.returncode != 0:
                raise KernelUnavailable(f"{self.role_of(child)} failed, status {child.returncode}")

    def pause(self, seconds: float) -> None:
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            self.stop.check()
            time.sleep(0.05)

    def remove(self) -> None:
        for _, child in self.all:
            if child.poll() is None:
                child.kill()
        for _, child in self.all:
            child.wait()
            for stream in (child.stdin, child.stdout):
                close_quietly(stream)


def close_quietly(stream: IO[bytes] | None) -> None:
    if stream is not None:
        with contextlib.suppress(OSError):
            stream.close()


def record_traffic(network: Network, children: Children, temporary: Path, seconds: float) -> dict[str, Any]:
    network.build()
    common = ["--seconds", str(seconds), *(["--ipv6"] if network.ipv6 else [])]
    capture = children.start(
        network.r, "capture", "--interface", "ra", "--out", str(temporary.resolve()), *common
    )
    receiver = children.start(network.b, "receive", *common)
    for child in (capture, receiver):
        children.line(child, 15)
    log(f"capturing {seconds:g} s of real traffic")
    pace = [] if network.shaped else ["--pace"]
    senders = [
        children.start(network.a, "send-tcp", *common, *pace),
        children.start(network.a, "send-udp", *common),
    ]
    children.wait(senders, capture, seconds + 20)
    children.pause(0.5)  # the last queue drains, connections close
    assert capture.stdin is not None
    with contextlib.suppress(BrokenPipeError):
        capture.stdin.write(b"finish\n")
        capture.stdin.flush()
    found: dict[str, Any] = json.loads(children.line(capture, 30))
    return found


def kernel_capture(temporary: Path, seconds: float, stop: StopFlag) -> Summary:
    if sys.platform != "linux":
        raise KernelUnavailable("network namespaces need Linux")
    if shutil.which("ip") is None:
        raise KernelUnavailable("ip is not installed (iproute2)")
    remove_stale_namespaces()
    network, children = Network(stop), Children(stop)
    try:
        found = record_traffic(network, children, temporary, seconds)
    finally:
        children.remove()
        network.remove()
    if found["lost"] or found["oversized"]:
        log(f"{found['lost']} frames lost by the tap, {found['oversized']} larger than {MAX_FRAME} B")
    if found["packets"] >= MAX_PACKETS:
        log(f"recording ended at {MAX_PACKETS} packets, the limit of the file")
    if found["packets"] < MIN_PACKETS:
        raise KernelUnavailable(f"only {found['packets']} packets were captured")
    return Summary(found["packets"], found["bytes"], found["seconds"])


def make(args: argparse.Namespace, stop: StopFlag) -> dict[str, Any]:
    out = Path(args.out)
    if not out.parent.is_dir():
        raise NotADirectoryError(f"no directory {out.parent}")
    temporary = out.with_name(f".{out.name}.{os.getpid()}.tmp")
    source, reason = "kernel", None
    try:
        try:
            if args.synthetic:
                raise KernelUnavailable("asked for with --synthetic")
            summary = kernel_capture(temporary, args.seconds, stop)
        except KernelUnavailable as error:
            source, reason = "synthetic", str(error)
            log(f"synthetic capture: {reason}")
            summary = write_pcap(temporary, synthetic_records(args.seconds))
        stop.check()
        temporary.replace(out)
    finally:
        temporary.unlink(missing_ok=True)
    return {
        "source": source,
        "path": str(out),
        "packets": summary.packets,
        "bytes": summary.bytes,
        "seconds": round(summary.seconds, 6),
        "reason": reason,
    }


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("out", nargs="?", metavar="OUT.pcap", help="file to write")
    parser.add_argument(
        "--seconds", type=float, default=8.0, help="length of the traffic (default 8, 1 to 60)"
    )
    parser.add_argument("--synthetic", action="store_true", help="do not try real traffic")
    for hidden in ("--role", "--interface"):
        parser.add_argument(hidden, help=argparse.SUPPRESS)
    for hidden in ("--ipv6", "--pace"):
        parser.add_argument(hidden, action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("--out", dest="out_option", help=argparse.SUPPRESS)
    args = parser.parse_args()
    args.out = args.out or args.out_option
    if args.role is None and args.out is None:
        parser.error("the file to write is missing")
    if not 1 <= args.seconds <= 60:
        parser.error("--seconds must be from 1 to 60")
    return args


def main() -> int:
    args = arguments()
    os.environ["PATH"] = os.environ.get("PATH", "") + ":/usr/sbin:/sbin"
    if args.role is not None:
        return ROLES[args.role](args)
    stop = StopFlag()
    try:
        result = make(args, stop)
    except Stopped as stopped:
        log(f"stopped by {stopped}, nothing written")
        return 128 + stop.signal_number
    except OSError as error:
        log(f"failed: {error}")
        return 1
    print(json.dumps(result), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())

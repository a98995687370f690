#!/usr/bin/env python3
"""What the kernel's TCP sends when certain segments are lost: two network namespaces, and this program between them.

    sudo validation/kernel_traces.py tests/linux     # needs root, TUN devices and Linux

A packet takes 50 ms either way, and data leaves a millisecond apart, as in the pipe of the simulator's own tests, which
compare what is recorded here: ``crates/fairdrop-sim/src/transport/tests/kernel.rs``. Each line of a file is a data
packet, when it left in microseconds, and the segment's number.
"""

from __future__ import annotations

import argparse
import ctypes
import fcntl
import heapq
import os
import platform
import select
import socket
import struct
import subprocess
import time
from collections import Counter
from pathlib import Path

CLONE_NEWNET = 0x40000000
TUNSETIFF = 0x400454CA
IFF_TUN_NO_PI = 0x1001
TCP_WINDOW_CLAMP = 10
MTU = 1000
# Without the headers and the option of timestamps.
SEGMENT = MTU - 20 - 20 - 12
DELAY_S = 0.05
GAP_S = 0.001
WINDOW = 40
LAST = 200
LIMIT_S = 60.0

# By name: congestion control, and which copies (from 1) of which segments are lost.
CASES: dict[str, tuple[str, frozenset[tuple[int, int]]]] = {
    "one": ("reno", frozenset({(25, 1)})),
    "three": ("reno", frozenset({(12, 1), (15, 1), (18, 1)})),
    "again": ("reno", frozenset({(25, 1), (25, 2)})),
    "tail": ("reno", frozenset((segment, 1) for segment in range(25, 60))),
    "head": ("reno", frozenset({(0, 1)})),
    "twice": ("reno", frozenset({(12, 1), (90, 1), (91, 1)})),
    "cubic": ("cubic", frozenset({(25, 1), (110, 1)})),
}

_libc = ctypes.CDLL(None, use_errno=True)


def _call(name: str, *words: int) -> None:
    if getattr(_libc, name)(*words):
        raise OSError(ctypes.get_errno(), f"{name}: {os.strerror(ctypes.get_errno())}")


def world(name: str, own: str, other: str) -> tuple[int, int]:
    """A new namespace for this thread, with a TUN device: the device and the namespace."""
    _call("unshare", CLONE_NEWNET)
    tun = os.open("/dev/net/tun", os.O_RDWR | os.O_NONBLOCK)
    fcntl.ioctl(tun, TUNSETIFF, struct.pack("16sH22x", name.encode(), IFF_TUN_NO_PI))
    for words in (
        f"addr add {own} dev {name}",
        f"link set {name} mtu {MTU} up",
        f"route add {other} dev {name}",
    ):
        subprocess.run(["ip", *words.split()], check=True)
    return tun, os.open("/proc/thread-self/ns/net", os.O_RDONLY)


def sequence(packet: bytes) -> tuple[int, int, bool]:
    """Sequence number, bytes of data, and whether it is a SYN, of a TCP packet over IPv4."""
    start = (packet[0] & 15) * 4
    number, flags = struct.unpack_from("!I5xB", packet, start + 4)
    return number, len(packet) - start - (packet[start + 12] >> 4) * 4, bool(flags & 2)


def record(control: str, lost: frozenset[tuple[int, int]]) -> list[tuple[int, int]]:
    """The data packets of a connection, from its SYN on."""
    receiver, _ = world("receiver", "10.9.1.1/32", "10.9.0.1/32")
    listener = socket.create_server(("10.9.1.1", 5000))
    listener.setsockopt(socket.IPPROTO_TCP, TCP_WINDOW_CLAMP, WINDOW * SEGMENT)
    listener.setblocking(False)
    sender, _ = world("sender", "10.9.0.1/32", "10.9.1.1/32")
    client = socket.socket()
    client.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, control.encode())
    client.setblocking(False)
    begun = time.monotonic()
    client.connect_ex(("10.9.1.1", 5000))
    found: list[tuple[int, int]] = []
    under_way: list[tuple[float, int, int, bytes]] = []
    copies: Counter[int] = Counter()
    server: socket.socket | None = None
    first, free_at, order = 0, begun, 0
    while not found or found[-1][1] < LAST:
        now = time.monotonic()
        if now - begun > LIMIT_S:
            raise TimeoutError(f"{control}: no segment {LAST} after {LIMIT_S:.0f} s")
        while under_way and under_way[0][0] <= now:
            _, _, to, packet = heapq.heappop(under_way)
            os.write(to, packet)
        wait = max(0.0, under_way[0][0] - time.monotonic()) if under_way else 0.05
        inputs = [sender, receiver, listener, *([server] if server else [])]
        ready, writable, _ = select.select(inputs, [client], [], min(wait, 0.05))
        if client in writable:
            try:
                client.send(bytes(1 << 16))
            except OSError:
                time.sleep(0)
        if listener in ready and server is None:
            server = listener.accept()[0]
            server.setblocking(False)
        if server in ready:
            server.recv(1 << 20)
        now = time.monotonic()
        if receiver in ready:
            order += 1
            heapq.heappush(under_way, (now + DELAY_S, order, sender, os.read(receiver, 2000)))
        if sender in ready:
            packet = os.read(sender, 2000)
            number, length, is_syn = sequence(packet)
            at = max(now, free_at) if length else now
            if is_syn:
                first = number + 1
            if length:
                free_at = at + GAP_S
                segment = ((number - first) & 0xFFFFFFFF) // SEGMENT
                copies[segment] += 1
                found.append((round((at - begun) * 1e6), segment))
                if (segment, copies[segment]) in lost:
                    continue
            order += 1
            heapq.heappush(under_way, (at + DELAY_S, order, receiver, packet))
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("folder", type=Path)
    folder: Path = parser.parse_args().folder
    folder.mkdir(parents=True, exist_ok=True)
    for name, (control, lost) in CASES.items():
        process = os.fork()
        if process == 0:
            found = record(control, lost)
            text = f"# Linux {platform.release().partition('-')[0]}, {control}; lost: "
            text += " ".join(f"{segment}:{copy}" for segment, copy in sorted(lost))
            text += "\n" + "".join(f"{at},{segment}\n" for at, segment in found)
            (folder / f"{name}.csv").write_text(text, encoding="utf-8")
            os._exit(0)
        if os.waitpid(process, 0)[1]:
            raise SystemExit(f"{name}: not recorded")


if __name__ == "__main__":
    main()

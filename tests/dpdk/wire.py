"""In a network namespace: frames through two pairs of interfaces and the forwarder between them.

usage: unshare --net python wire.py FORWARD EAL... -- OPTIONS...
Prints which frames came out with what tag, and the forwarder's counters, as JSON.
"""

from __future__ import annotations

import json
import signal
import socket
import struct
import subprocess
import sys
import threading

import frames

FRAMES = 400
PATIENCE_S = 60
# Of the kernel: the tag of a frame is not in the frame, but beside it.
SOL_PACKET, PACKET_AUXDATA, VLAN_VALID = 263, 8, 16


def pair(near: str, far: str) -> None:
    """A pair of interfaces, both up, which say nothing by themselves."""
    for command in (
        f"ip link add {near} type veth peer name {far}",
        f"ip link set {near} addrgenmode none up",
        f"ip link set {far} addrgenmode none up",
    ):
        subprocess.run(command.split(), check=True, timeout=PATIENCE_S)


def listen(interface: str) -> socket.socket:
    found = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(3))
    found.bind((interface, 0))
    found.setsockopt(SOL_PACKET, PACKET_AUXDATA, 1)
    found.settimeout(PATIENCE_S)
    return found


def received(receiver: socket.socket) -> tuple[int, int]:
    """The number of the next frame, and its tag, 0 where it has none."""
    frame, beside, _, _ = receiver.recvmsg(65535, socket.CMSG_SPACE(20))
    status, tag = struct.unpack_from("=I12xH", beside[0][2])
    return frames.Seen(frame).number, tag if status & VLAN_VALID else 0


def main() -> None:
    pair("near", "in")
    pair("far", "out")
    sender, receiver = listen("near"), listen("far")
    devices = ["--vdev=net_af_packet0,iface=in", "--vdev=net_af_packet1,iface=out"]
    program, *words = sys.argv[1:]
    work = subprocess.Popen([program, *devices, *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    late = threading.Timer(PATIENCE_S, work.kill)
    late.start()
    try:
        assert work.stderr is not None and any(line.startswith("forward: 2 port") for line in work.stderr)
        came = []
        for number in range(FRAMES):
            sender.send(frames.udp(number % 7, number, 200, tagged=number % 2 == 1))
            # One at a time: no buffer on the way can be too small.
            came.append(received(receiver))
        work.send_signal(signal.SIGTERM)
        out, _ = work.communicate(timeout=PATIENCE_S)
    finally:
        late.cancel()
        work.kill()
    print(json.dumps({"came": came, "counters": json.loads(out)}))


if __name__ == "__main__":
    main()

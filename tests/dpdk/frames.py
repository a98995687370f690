"""Ethernet frames, and captures of them, as the tests of the forwarder write and read them."""

from __future__ import annotations

import struct
from collections.abc import Iterable
from pathlib import Path

ETHERNET = bytes.fromhex("020000000002 020000000001")
IPV4, IPV6, VLAN = 0x0800, 0x86DD, 0x8100


def total(header: bytes) -> int:
    """The sum of a header's words; 0xFFFF where its checksum is right."""
    found = sum(struct.unpack(f"!{len(header) // 2}H", header))
    while found > 0xFFFF:
        found = (found & 0xFFFF) + (found >> 16)
    return found


def udp(sender: int, number: int, length: int, *, ecn: int = 0, version: int = 4, tagged: bool = False) -> bytes:
    """A datagram in a frame of `length` bytes: which sender's, and which of all."""
    tag = struct.pack("!HH", VLAN, 7) if tagged else b""
    room = length - 14 - len(tag) - (20 if version == 4 else 40)
    datagram = struct.pack("!HHHHI", 1000 + sender, 9, room, 0, number).ljust(room, b"\0")
    if version == 4:
        begin = struct.pack("!BBHHHBBH", 0x45, ecn, 20 + room, number & 0xFFFF, 0, 64, 17, 0)
        begin += bytes([10, 0, 0, sender]) + bytes([10, 1, 0, 1])
        header = begin[:10] + struct.pack("!H", 0xFFFF - total(begin)) + begin[12:]
    else:
        header = struct.pack("!IHBB", 6 << 28 | ecn << 20, room, 17, 64) + bytes(15) + bytes([sender]) + bytes(16)
    return ETHERNET + tag + struct.pack("!H", IPV4 if version == 4 else IPV6) + header + datagram


class Seen:
    """What the tests read of such a frame."""

    def __init__(self, frame: bytes) -> None:
        at = 14 if frame[12:14] != struct.pack("!H", VLAN) else 18
        self.version = frame[at] >> 4
        size = 20 if self.version == 4 else 40
        self.ecn = frame[at + 1] & 3 if self.version == 4 else frame[at + 1] >> 4 & 3
        self.whole = self.version == 6 or total(frame[at : at + size]) == 0xFFFF
        port, self.number = struct.unpack_from("!H6xI", frame, at + size)
        self.sender = port - 1000


def write(path: Path, frames: Iterable[bytes]) -> None:
    with path.open("wb") as file:
        file.write(struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 65535, 1))
        for frame in frames:
            file.write(struct.pack("<IIII", 0, 0, len(frame), len(frame)) + frame)


def read(path: Path) -> list[bytes]:
    data = path.read_bytes()
    at, found = 24, []
    while at < len(data):
        (length,) = struct.unpack_from("<I", data, at + 8)
        found.append(data[at + 16 : at + 16 + length])
        at += 16 + length
    return found

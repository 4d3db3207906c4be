"""Capture files (pcap): what was transferred in one, and the kinds that are derived from it."""

import random
import struct
from dataclasses import dataclass, field
from pathlib import Path
from typing import Iterator, Optional

HEAD = struct.Struct("<IHHiIII")
PACKET = struct.Struct("<IIII")
MICROSECONDS, NANOSECONDS = 0xA1B2C3D4, 0xA1B23C4D
# Snap lengths: Ethernet, IP and TCP without options, and with some.
SHORT = (54, 68)

Key = tuple[bytes, bytes, int, int, int]


@dataclass
class Packet:
    seconds: float
    data: bytes
    length: int
    record: bytes


@dataclass
class Flow:
    """One direction of a connection, or of a conversation by UDP."""

    packets: list[int] = field(default_factory=list)
    bytes: int = 0
    first: float = 0.0
    last: float = 0.0
    begin: Optional[int] = None
    end: int = 0

    def add(self, number: int, seconds: float, sequence: Optional[int], size: int) -> None:
        if not self.packets:
            self.first = seconds
        self.packets.append(number)
        if sequence is None:
            self.bytes += size
        elif size:
            if self.begin is None:
                self.begin = self.end = sequence
            ahead = (sequence + size - self.end) & 0xFFFFFFFF
            if ahead >= 1 << 31:
                return  # A repetition.
            self.end += ahead
            self.bytes += ahead
        if size:
            self.last = seconds


def read(file: Path) -> list[Packet]:
    data = file.read_bytes()
    if len(data) < HEAD.size:
        return []
    magic = HEAD.unpack_from(data)[0]
    fraction = {MICROSECONDS: 1e-6, NANOSECONDS: 1e-9}[magic]
    packets, at = [], HEAD.size
    while at + PACKET.size <= len(data):
        seconds, part, captured, length = PACKET.unpack_from(data, at)
        end = at + PACKET.size + captured
        if end > len(data):
            break
        packets.append(Packet(seconds + part * fraction, data[at + PACKET.size:end], length, data[at:end]))
        at = end
    return packets


def write(file: Path, head_of: Path, packets: list[Packet], snap: Optional[int] = None) -> None:
    """Writes packets with the header of another file, cut to `snap` bytes."""
    head = list(HEAD.unpack(head_of.read_bytes()[:HEAD.size]))
    if snap:
        head[5] = snap
    with file.open("wb") as out:
        out.write(HEAD.pack(*head))
        for packet in packets:
            if snap and len(packet.data) > snap:
                seconds, part, _, length = PACKET.unpack_from(packet.record)
                out.write(PACKET.pack(seconds, part, snap, length) + packet.data[:snap])
            else:
                out.write(packet.record)


def segments(packets: list[Packet]) -> Iterator[tuple[int, Key, Optional[int], int]]:
    """Number, addresses, sequence number (TCP) and payload size of each TCP and UDP packet."""
    for number, packet in enumerate(packets):
        data = packet.data
        if len(data) < 42 or data[12:14] != b"\x08\x00" or data[23] not in (6, 17):
            continue
        at = 14 + (data[14] & 15) * 4
        total, = struct.unpack_from(">H", data, 16)
        # An interface with offload shows packets whose length does not fit.
        total = total or packet.length - 14
        source, destination = struct.unpack_from(">HH", data, at)
        key = (data[26:30], data[30:34], source, destination, data[23])
        if data[23] == 17:
            yield number, key, None, total + 14 - at - 8
        elif len(data) >= at + 20:
            sequence, = struct.unpack_from(">I", data, at + 4)
            syn_fin = data[at + 13] & 2
            yield number, key, sequence + (1 if syn_fin else 0), total + 14 - at - (data[at + 12] >> 4) * 4


def flows(packets: list[Packet]) -> dict[Key, Flow]:
    found: dict[Key, Flow] = {}
    for number, key, sequence, size in segments(packets):
        found.setdefault(key, Flow()).add(number, packets[number].seconds, sequence, size)
    return found


def back(key: Key) -> Key:
    """The other direction of a conversation."""
    return key[1], key[0], key[3], key[2], key[4]


def goodput(packets: list[Packet]) -> Optional[float]:
    """Bits per second that arrived at the right end or left it at the left, each byte counted once. All
    conversations in the direction with most bytes count, from their first packet in any direction to their last
    data."""
    found = flows(packets)
    by_direction: dict[tuple[bytes, bytes], list[Key]] = {}
    for key in found:
        by_direction.setdefault(key[:2], []).append(key)
    best = max(by_direction.values(), key=lambda keys: sum(found[it].bytes for it in keys), default=[])
    total = sum(found[it].bytes for it in best)
    if not total:
        return None
    both = [*best, *(it for it in map(back, best) if it in found)]
    passed = max(found[it].last for it in best) - min(found[it].first for it in both)
    return round(total * 8 / passed, 1) if passed > 0 else None


def late(packets: list[Packet], seed: str) -> list[Packet]:
    """The capture as if it had been started in the middle of the largest conversation."""
    chance = random.Random(seed)
    found = flows(packets)
    if not found:
        return []
    key = max(found, key=lambda it: found[it].bytes)
    other = found.get(back(key), Flow())
    numbers = sorted(found[key].packets + other.packets)
    return packets[numbers[int(len(numbers) * chance.uniform(0.3, 0.6))]:]

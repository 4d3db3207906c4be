"""Other captures from one: begun late, cut to headers, without some packets, in the order of time."""

import struct

HEAD = 24
SNAPS = (64, 68, 72, 80, 90, 96, 112, 128)


def read(file):
    """The file's head and its packets: [seconds, microseconds, octets on the wire, bytes]."""
    data = file.read_bytes()
    if data[:4] != b"\xd4\xc3\xb2\xa1":
        raise ValueError(f"{file}: no little-endian pcap with microseconds")
    packets, at = [], HEAD
    while at + 16 <= len(data):
        seconds, micros, kept, octets = struct.unpack_from("<IIII", data, at)
        packets.append((seconds, micros, octets, data[at + 16:at + 16 + kept]))
        at += 16 + kept
    return data[:HEAD], packets


def write(file, head, packets, snap=0):
    with open(file, "wb") as out:
        out.write(head if not snap else head[:16] + struct.pack("<I", snap) + head[20:])
        for seconds, micros, octets, data in packets:
            kept = data[:snap] if snap else data
            out.write(struct.pack("<IIII", seconds, micros, len(kept), octets) + kept)


def time_of(packet):
    return packet[0] + packet[1] / 1e6


def in_order(packets):
    return sorted(packets, key=lambda it: (it[0], it[1]))


def late(packets, share):
    """What follows after `share` of the time from the first to the last packet with TCP or UDP payload. Returns the
    packets and the time that is left out."""
    times = [time_of(it) for it in packets if has_payload(it[3])] or [time_of(it) for it in packets]
    start = times[0] + share * (times[-1] - times[0])
    return [it for it in packets if time_of(it) >= start], start - time_of(packets[0])


def has_payload(frame):
    if len(frame) < 42 or frame[12:14] != b"\x08\x00":
        return False
    header = (frame[14] & 15) * 4
    total = struct.unpack_from(">H", frame, 16)[0]
    if frame[23] == 17:
        return True
    return frame[23] == 6 and total > header + (frame[14 + header + 12] >> 4) * 4


def without_some(packets, share, random):
    return [it for it in packets if random.random() >= share]

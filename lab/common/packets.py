"""Reads captures: what was delivered, and the parts of a capture that are files of their own."""

import struct

SNAPS = (60, 66, 70, 76, 84, 94, 100, 120)
# Octets before the IP header, by link type: Ethernet, raw IP.
LINK_OCTETS = {1: 14, 101: 0}


def read(file):
    data = file.read_bytes()
    if data[:4] != b"\xd4\xc3\xb2\xa1":
        raise ValueError(f"{file}: no pcap")
    packets, at, link = [], 24, LINK_OCTETS[struct.unpack_from("<I", data, 20)[0]]
    while at + 16 <= len(data):
        seconds, micros, kept, octets = struct.unpack_from("<IIII", data, at)
        if at + 16 + kept > len(data):
            break
        packets.append((seconds + micros / 1e6, octets, data[at + 16:at + 16 + kept], data[at:at + 8], link))
        at += 16 + kept
    return data[:24], packets


def write(file, head, packets, snap=0, cut=0):
    with open(file, "wb", 1 << 20) as out:
        out.write(head[:16] + struct.pack("<I", snap) + head[20:] if snap else head)
        for _, octets, data, stamp, _ in packets:
            kept = data[:snap] if snap else data
            out.write(stamp + struct.pack("<II", len(kept), octets) + kept)
        if cut:
            out.seek(0, 2)
            out.truncate(out.tell() - cut)


def payload(packet):
    """(protocol, source, destination, ports, sequence, octets of payload), or None."""
    _, octets, frame, _, link = packet
    if link and frame[12:14] not in (b"\x08\x00", b"\x86\xdd"):
        return None
    ip = frame[link:]
    if ip[0] >> 4 == 4:
        at, protocol, total = (ip[0] & 15) * 4, ip[9], struct.unpack_from(">H", ip, 2)[0] - (ip[0] & 15) * 4
        hosts = (ip[12:16], ip[16:20])
    else:
        at, protocol, total = 40, ip[6], struct.unpack_from(">H", ip, 4)[0]
        hosts = (ip[8:24], ip[24:40])
    if protocol == 6:
        ports = struct.unpack_from(">HH", ip, at)
        return 6, *hosts, ports, struct.unpack_from(">I", ip, at + 4)[0], total - (ip[at + 12] >> 4) * 4
    if protocol == 17:
        return 17, *hosts, struct.unpack_from(">HH", ip, at), 0, total - 8
    return None


def delivered(packets, sender):
    """Octets that arrived here from `sender` (packed address), each once; seconds from the first packet of their
    connections to the last; segments with payload."""
    flows, first, last, segments = {}, None, None, 0
    for packet in packets:
        it = payload(packet)
        if it is None or it[0] not in (6, 17):
            continue
        first = packet[0] if first is None else first
        if it[1] != sender or it[5] <= 0:
            continue
        segments += 1
        last = packet[0]
        protocol, _, _, ports, sequence, octets = it
        if protocol == 17:
            flows[ports, segments] = (0, octets)
            continue
        start, most = flows.get(ports, (sequence, 0))
        end = (sequence + octets - start) & 0xFFFFFFFF
        flows[ports] = (start, max(most, end) if end < 1 << 31 else most)
    seconds = (last - first) if last else 0.0
    return sum(most for _, most in flows.values()), seconds, segments


def span(packets):
    """Times of the first and the last packet with payload."""
    times = [it[0] for it in packets if (payload(it) or (0,) * 6)[5] > 0] or [it[0] for it in packets] or [0.0]
    return times[0], times[-1]

"""The link type of some files: raw IP, and Linux's "cooked" one as captures on all interfaces have it."""

import random
import struct

ETHERNET, RAW, COOKED = 1, 101, 113


def cooked(frame, own):
    """The 16 octets that Linux writes in place of the Ethernet header: sent or received, kind, address, protocol."""
    sent = frame[6:12] == own
    kind = 4 if sent else 1 if frame[0:6] == b"\xff" * 6 else 2 if frame[0] & 1 else 0
    return struct.pack(">HHH", kind, 1, 6) + frame[6:12] + b"\0\0" + frame[12:14] + frame[14:]


def other(file, seed, label):
    """Rewrites some of the Ethernet pcaps (not truncated ones, which may end within a packet). Returns whether it did."""
    draw = random.Random(seed)
    share = draw.random()
    if share > 0.15 or "truncated" in label["kind"]:
        return False
    data = file.read_bytes()
    if data[:4] not in (b"\xd4\xc3\xb2\xa1", b"\x4d\x3c\xb2\xa1") or struct.unpack_from("<I", data, 20)[0] != ETHERNET:
        return False
    to = COOKED if share < 0.09 else RAW
    frames, at = [], 24
    while at + 16 <= len(data):
        stamp, kept, octets = data[at:at + 8], *struct.unpack_from("<II", data, at + 8)
        frames.append((stamp, octets, data[at + 16:at + 16 + kept]))
        at += 16 + kept
    place = label["kind"].split("-")[-1]
    if to == COOKED and place == "middle":
        return False
    own = sender_of(frames, label, place)
    out = [data[:20], struct.pack("<I", to)]
    for stamp, octets, frame in frames:
        if to == RAW and frame[12:14] not in (b"\x08\x00", b"\x86\xdd"):
            continue
        packet, more = (frame[14:], -14) if to == RAW else (cooked(frame, own), 2)
        out += [stamp, struct.pack("<II", len(packet), octets + more), packet]
    file.write_bytes(b"".join(out))
    label["link"] = "raw" if to == RAW else "cooked"
    return True


def sender_of(frames, label, place):
    """The Ethernet address of the capturing host: that of the end with most payload where it sends, else the other one."""
    octets = {}
    for _, size, frame in frames:
        if frame[12:14] == b"\x08\x00":
            octets[frame[6:12]] = octets.get(frame[6:12], 0) + size
    order = sorted(octets, key=octets.get, reverse=True) or [b""]
    return order[0] if place == "sender" else order[-1]

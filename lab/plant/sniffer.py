"""Captures that miss packets: taken out of whole ones."""

import random

import packets


def thin_out(file, share, seed, one_way=None):
    """Takes out rows of packets, `share` of all; or all from the address `one_way`."""
    head, found = packets.read(file)
    draw = random.Random(seed)
    kept, misses = [], 0
    for it in found:
        if one_way is not None:
            parsed = packets.payload(it)
            if parsed and parsed[1] == one_way:
                continue
        elif misses:
            misses -= 1
            continue
        elif draw.random() < share / 12:
            misses = draw.randrange(4, 20)
            continue
        kept.append(it)
    packets.write(file, head, kept)
    return len(found) - len(kept)

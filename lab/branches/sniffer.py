"""Mirrors and sniffers that miss packets: taken out of whole captures."""

import random

import packets


def thin_out(folder, how, seed):
    """`per_10_ms`: a mirror port passes so many packets per 10 ms. `share`: what a busy sniffer loses, in rows. `one_way`: what is sent
    by the side that has sent least is not mirrored."""
    for name in "ABR":
        file = folder / f"{name}.pcap"
        head, found = packets.read(file)
        rng, kept = random.Random(seed), []
        if "per_10_ms" in how:
            turn, count = None, 0
            for it in found:
                now = int(it[0] * 100)
                turn, count = (now, 1) if now != turn else (turn, count + 1)
                if count <= how["per_10_ms"]:
                    kept.append(it)
        elif "share" in how:
            left = 0
            for it in found:
                if left == 0 and rng.random() < how["share"] / how["row"]:
                    left = rng.randint(1, 2 * how["row"] - 1)
                if left:
                    left -= 1
                else:
                    kept.append(it)
        else:
            octets = {}
            for it in found:
                octets[it[2][6:12]] = octets.get(it[2][6:12], 0) + it[1]
            least = min(octets, key=octets.get)
            kept = [it for it in found if it[2][6:12] != least]
        packets.write(file, head, kept)

"""What a capturing host that is too slow, or a mirror port of one direction, leaves of a capture."""

import shutil

import packets


def spoil(folder, how, draw, sender):
    """`how` has a `share` of the packets that go in runs of about `run`, or the direction that is `left`: "data" or "answers".
    What was there before stays beside it, for the truth."""
    source = bytes(map(int, sender.split(".")))
    for end in "ABR":
        file = folder / f"{end}.pcap"
        shutil.copyfile(file, folder / f"{end}.whole")
        head, found = packets.read(file)
        if "left" in how:
            kept = [it for it in found if ((packets.payload(it) or (0, source))[1] == source) == (how["left"] == "data")]
        else:
            kept, missing = [], 0
            for it in found:
                if missing == 0 and draw.random() < how["share"] / how["run"]:
                    missing = max(1, round(draw.expovariate(1 / how["run"])))
                if missing:
                    missing -= 1
                else:
                    kept.append(it)
        packets.write(file, head, kept)

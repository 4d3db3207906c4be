"""The captures of each kind of a trial, with their labels."""

import hashlib
import shutil
import subprocess

import packets
from draw import expected_at


def cut(name, number, case, draw, trial, truth, run, out, formats=("pcap",)):
    """Cuts A.pcap, B.pcap and R.pcap (the middle) of the folder `run`, writes to `out` and returns the labels. `one_end`
    of a trial is the only end that shows the cause; True is the sender. Each file has one of the formats of editcap."""
    one_end = {True: "sender"}.get(trial.get("one_end"), trial.get("one_end"))
    ends = {"sender": trial["sender"], "receiver": "B" if trial["sender"] == "A" else "A", "middle": "R"}
    turn = one_end or ("sender", "receiver")[number % 2]
    other = one_end or ("receiver", "sender")[number % 2]
    labels = []
    for kind in case["kinds"]:
        place = kind if kind in ends else turn if kind == "late" else other if kind == "snapped" else (turn, other)[(number // 2) % 2]
        full = kind if kind in ends else f"{kind}-{place}"
        head, found = packets.read(run / f"{ends[place]}.pcap")
        first, last = packets.span(found)
        more, snap, trailing = {}, 0, 0
        if kind == "late":
            share = draw.random.uniform(*case["late"])
            found = [it for it in found if it[0] >= first + share * (last - first)]
            more["begun_after_s"] = round(share * (last - first), 3)
        elif kind == "truncated":
            share = draw.random.uniform(*case["truncated"])
            found = [it for it in found if it[0] <= first + share * (last - first)]
            more["ended_after_s"] = round(share * (last - first), 3)
            trailing = draw.random.choice((0, 7, 40))
        elif kind == "snapped":
            snap = draw.random.choice(packets.SNAPS[4:] if trial.get("ipv6") else packets.SNAPS)
            more["octets_per_packet"] = snap
        form = draw.random.choice(formats) if len(formats) > 1 and not trailing else "pcap"
        file = f"{name}-{number}-{full}.{'pcapng' if form == 'pcapng' else 'pcap'}"
        packets.write(out / file, head, found, snap, trailing)
        if form != "pcap":
            packets.write(run / "as-pcap", head, found, snap)
            subprocess.run(["editcap", "-F", form, run / "as-pcap", run / "as-wanted"], check=True, capture_output=True)
            shutil.copyfile(run / "as-wanted", out / file)
        expected = expected_at(case["expected"], full)
        if expected == ["unknown"] and trial.get("also_at_sender"):
            expected = trial["also_at_sender"]
        stated = {key: truth[key] for key in ("goodput_bits_per_s", "without_bits_per_s") if truth[key]}
        if not case["gain"]:
            stated.pop("without_bits_per_s", None)
        labels.append({"file": file, "case": name, "seed": number, "part": "held-out", "kind": full, "expected": expected,
                       **({"or_none": True} if trial.get("or_none") else {}), "control": case["control"],
                       "reason": case["reason"], "truth": stated,
                       "path": {**truth["path"], "lost_segments": truth["lost_segments"], "seconds": truth["seconds"]},
                       **({"checked": case["check"].text} if hasattr(case["check"], "text") else {}),
                       "settings": draw.settings, "packets": len(found), **more,
                       "sha256": hashlib.sha256((out / file).read_bytes()).hexdigest()})
    return labels

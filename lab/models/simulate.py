#!/usr/bin/env python3
"""Draws, provokes, checks, records and labels the simulated part: simulate.py --out DIR [--only CASE…]. Nothing of the machine limits it."""

import ipaddress
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
LAB = HERE.parent
sys.path[:0] = [str(it) for it in (HERE, LAB / "devices", LAB / "emulated", LAB / "common")]
import packets
import simulated_ends, simulated_path, simulated_sound  # noqa: F401, E401 (they register their cases)
from hops import facts
from simulated import SEED
from trials import Trials, opening

ADDRESS = {"A": "10.61.1.1", "B": "10.61.3.2"}
FORMATS = ("pcap", "pcap", "pcapng", "nsecpcap")
BUILT = Path(os.environ.get("BUILT", Path(tempfile.gettempdir()) / "models-programs"))
SOURCES = {"CycloneTCP": "a5bdd89fa565ab9c6623c9c1a01773869be0fac4", "Common": "813f077ef5c081e9925a495fe650c54e4e3d1ba3"}
STACKS = {"plain": (), "full": ("-DTCP_SACK_SUPPORT=ENABLED", "-DTCP_WINDOW_SCALE_SUPPORT=ENABLED"), "scaled": ("-DTCP_WINDOW_SCALE_SUPPORT=ENABLED",)}


def build():
    """ns-3 with the programs, and CycloneTCP as it comes, with window scaling, and with SACK besides."""
    BUILT.mkdir(parents=True, exist_ok=True)
    for name, commit in SOURCES.items():
        source = BUILT / "sources" / name
        if not source.exists():
            subprocess.run(["git", "clone", "--quiet", f"https://github.com/Oryx-Embedded/{name}", source], check=True)
            subprocess.run(["git", "-C", source, "checkout", "--quiet", commit], check=True)
    if not (BUILT / "world").exists():
        subprocess.run([HERE / "world" / "make", BUILT / "world"], check=True)
    for name, options in STACKS.items():
        if not (BUILT / f"cyclone-{name}.so").exists():
            subprocess.run([HERE / "cyclone" / "make", *[BUILT / "sources" / it for it in SOURCES], BUILT / f"cyclone-{name}.so", *options], check=True)


def perform(trial, folder, seed, lane):
    """One run. Returns its truth; A.pcap, B.pcap and R.pcap (the middle) stay in `folder`."""
    words = {"out": folder, "seed": seed % 100_000 + 1, "sender": trial["sender"], **trial["simulated"]}
    # Only hosts have timestamps.
    words = {"stamps": trial["timestamps"], "host_mss": 1_448 if trial["timestamps"] else 1_460, **words}
    words["library"] = BUILT / f"cyclone-{words.pop('stack', 'plain')}.so"
    if "octets" in trial:
        words["octets"] = trial["octets"]
    done = subprocess.run([BUILT / "world", *[f"--{key}={int(it) if isinstance(it, bool) else it}" for key, it in words.items() if it != ""]],
                          capture_output=True, text=True, timeout=150)
    if done.returncode:
        raise RuntimeError(f"{done.returncode} {done.stderr[-300:]}")
    counts, sender = json.loads(done.stdout), trial["sender"]
    packed = ipaddress.ip_address(ADDRESS[sender]).packed
    octets, seconds, arrived = packets.delivered(packets.read(folder / f"{'B' if sender == 'A' else 'A'}.pcap")[1], packed)
    sent = packets.delivered(packets.read(folder / f"{sender}.pcap")[1], packed)[2]
    return {"octets": octets, "seconds": round(seconds, 3), "lost_segments": sent - arrived,
            "goodput_bits_per_s": round(octets * 8 / seconds, 1) if octets and seconds > 0 else None,
            "path": {"counts": counts, "socket": {}, "simulated": "ns-3 3.37", "programs": [counts], **opening(folder / "A.pcap"),
                     "seen": facts(folder, sender, packed)}, "printed": ""}


if __name__ == "__main__":
    Trials(SEED, perform, "models-", FORMATS, (2.2, 9), 4.0).main(build)

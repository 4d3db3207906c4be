#!/usr/bin/env python3
"""Draws, provokes, checks, records and labels: generate.py --out DIR [--only CASE...] [--lanes N] [--list]. As root."""

import ipaddress
import os
import re
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "common")]
import packets
import cases_ends, cases_healthy, cases_path  # noqa: F401, E401 (they register their cases)
import machine
from network import ADDRESS, Network
from setups import SEED
from trials import Trials, disturbed, opening, parsed

# A run during which a waiting program or the path was later than this, or in which a capture missed packets, is repeated.
PROGRAM_P99_MS, PROGRAM_MAX_MS, PATH_P99_MS, PATH_MAX_MS = 4.0, 60.0, 2.0, 25.0
FORMATS = ("pcap", "pcap", "pcap", "pcapng", "nsecpcap")
BUILT = Path(tempfile.gettempdir())


# The programs of the ends come before what else this machine does.
machine.NICE[:] = ["chrt", "-r", "1"]


class Lateness(machine.Lateness):
    """With the priority of the programs."""

    def run(self):
        os.sched_setscheduler(0, os.SCHED_RR, os.sched_param(1))
        super().run()


def resolved(trial, seed):
    """The options of the path for this direction of the data."""
    ways = {"there.": "ab." if trial["sender"] == "A" else "ba.", "back.": "ba." if trial["sender"] == "A" else "ab."}
    path = {}
    for key, value in trial["path"].items():
        for name, way in ways.items():
            key = key.replace(name, way)
        path[key] = value
    return {**trial, "middle": trial.get("middle", trial["sender"]), "path": {**path, "seed": seed}}


def perform(trial, folder, seed, lane):
    """One run. Returns its truth; A.pcap, B.pcap and R.pcap (the middle) stay in `folder`."""
    # Another set's generator may have restored it.
    machine.run("sysctl", "-qw", "net.ipv4.tcp_allowed_congestion_control=reno cubic bbr")
    for name, text in trial.get("files", {}).items():
        (folder / name).write_text(text.replace("@D", str(folder)).replace("@B", ADDRESS["B"]))
    count = str(int(trial.get("octets", 0)))
    with Network(resolved(trial, seed), folder, lane, BUILT) as net:
        watch, dumps = Lateness(), []
        for end in "AB":
            words = ["tcpdump", "-i", "eth0", "-B", "16384", "-s", "2000", "-n", "--immediate-mode", "-w", folder / f"{end}.pcap"]
            dumps.append(net.begin(end, words, f"dump-{end}"))
        servers = [net.start(end, command.replace("@N", count), f"server-{at}") for at, (end, command) in enumerate(trial["servers"])]
        time.sleep(1.4)
        watch.start()
        client = net.start(trial.get("client_at", "A"), trial["client"].replace("@N", count), "client")
        until, sockets = time.monotonic() + trial.get("longest", 25), {}
        while client.poll() is None and time.monotonic() < until:
            try:
                client.wait(0.6)
            except subprocess.TimeoutExpired:
                found = net.sockets(trial["sender"])
                sockets = found if found.get("bytes_sent", 0) >= sockets.get("bytes_sent", 0) else sockets
        time.sleep(0.4)
        late = watch.end()
        missed = []
        for dump in dumps:
            text = net.stop(dump, 5, signal.SIGINT)
            found = re.search(r"(\d+) packets dropped by kernel", text)
            missed.append(int(found[1]) if found else -1)
        printed = net.stop(client)
        told = printed + "".join(net.stop(it, 1) for it in servers)
        counts = net.counters()
    late |= {f"path_{key}": counts.pop(key) for key in ("late_p99_ms", "late_max_ms")}
    if any(missed):
        disturbed(f"captures missed {missed}")
    if is_late(late):
        disturbed(f"{late}")
    sender, receiver = trial["sender"], "B" if trial["sender"] == "A" else "A"
    packed = ipaddress.ip_address(ADDRESS[sender]).packed
    octets, seconds, arrived = packets.delivered(packets.read(folder / f"{receiver}.pcap")[1], packed)
    sent = packets.delivered(packets.read(folder / f"{sender}.pcap")[1], packed)[2]
    programs = [it for it in map(parsed, told.splitlines()) if it]
    return {"octets": octets, "seconds": round(seconds, 3), "lost_segments": sent - arrived,
            "goodput_bits_per_s": round(octets * 8 / seconds, 1) if octets and seconds > 0 else None,
            "path": {"counts": counts, "socket": sockets, "programs": programs, **opening(folder / "A.pcap"), **late}, "printed": printed[-200:]}


def is_late(late):
    return late["late_p99_ms"] > PROGRAM_P99_MS or late["late_max_ms"] > PROGRAM_MAX_MS \
        or late["path_late_p99_ms"] > PATH_P99_MS or late["path_late_max_ms"] > PATH_MAX_MS


def build():
    """The programs of the set."""
    for name, source in (("path", "path/main.rs"), ("ends", "ends.rs")):
        subprocess.run(["rustc", "--edition", "2021", "-O", "-o", BUILT / f"access-{name}", HERE / source], check=True)


if __name__ == "__main__":
    Trials(SEED, perform, "access-", FORMATS, unsized=("least_s", "longest")).main(build)

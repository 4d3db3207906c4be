#!/usr/bin/env python3
"""Draws, provokes, checks, records and labels: generate.py --out DIR [--only CASE...] [--lanes N] [--list]. As root."""

import atexit
import ipaddress
import os
import re
import signal
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "common")]
import packets
import cases_ends, cases_healthy, cases_path  # noqa: F401, E401 (they register their cases)
from machine import Lateness
from network import ADDRESS, BOARD, Network
from setups import SEED
from trials import Trials, disturbed, opening, parsed

# A run during which a waiting program or the path was later than this, or in which a capture missed packets, is repeated.
PROGRAM_P99_MS, PROGRAM_MAX_MS, PATH_P99_MS, PATH_MAX_MS = 4.0, 60.0, 2.0, 25.0
FORMATS = ("pcap", "pcap", "pcap", "pcapng", "nsecpcap")
BUILT = Path(tempfile.gettempdir()) / "stations-path"
FIRMWARE = Path(os.environ.get("STATIONS_BOARD", "boards/qemu-versatilepb/target/armv7a-none-eabi/release/bench_agent"))


def resolved(trial, seed):
    """The options of the path for this direction of the data."""
    ways = {"there.": "ab." if trial["sender"] == "A" else "ba.", "back.": "ba." if trial["sender"] == "A" else "ab."}
    path = {}
    for key, value in trial["path"].items():
        for name, way in ways.items():
            key = key.replace(name, way)
        path[key] = value
    return {**trial, "path": {**path, "seed": seed}}


def perform(trial, folder, seed, lane):
    """One run. Returns its truth; A.pcap, B.pcap and R.pcap (the middle) stay in `folder`."""
    for name, text in trial.get("files", {}).items():
        (folder / name).write_text(text.replace("@D", str(folder)).replace("@B", ADDRESS["B"]))
    count = str(int(trial.get("octets", 0)))
    with Network(resolved(trial, seed), folder, lane, BUILT) as net:
        watch, dumps = Lateness(), []
        middle = "to-" + trial.get("middle", trial["sender"]).lower()
        places = [("A", "eth0", "A"), ("B", "eth0", "B")] + ([("P", middle, "R")] if trial.get("link") != "tun" else [])
        for end, name, file in places:
            words = ["tcpdump", "-i", name, "-B", "16384", "-s", "2000", "-n", "--immediate-mode", "-w", folder / f"{file}.pcap"]
            dumps.append(net.begin(end, words, f"dump-{file}"))
        board = net.begin("B", [*BOARD, "-kernel", FIRMWARE], "board") if trial.get("board") else None
        servers = [net.start(end, command.replace("@N", count), f"server-{at}") for at, (end, command) in enumerate(trial["servers"])]
        time.sleep(2.0 if board else 1.3)
        watch.start()
        client = net.start(trial.get("client_at", "A"), trial["client"].replace("@N", count), "client")
        ended = threading.Event()
        stopping = None
        if trial.get("stop_board"):
            stopping = threading.Thread(target=stop_and_go, args=(board.pid, *trial["stop_board"], ended))
            stopping.start()
        until, sockets = time.monotonic() + trial.get("longest", 25), {}
        while client.poll() is None and time.monotonic() < until:
            try:
                client.wait(0.6)
            except subprocess.TimeoutExpired:
                found = net.sockets(trial["sender"])
                sockets = found if found.get("bytes_sent", 0) >= sockets.get("bytes_sent", 0) else sockets
        ended.set()
        if stopping:
            stopping.join()
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


def stop_and_go(process, works_ms, stops_ms, ended):
    while not ended.wait(works_ms / 1e3):
        os.kill(process, signal.SIGSTOP)
        time.sleep(stops_ms / 1e3)
        os.kill(process, signal.SIGCONT)


def build():
    """The programs of the set."""
    allowed = "net.ipv4.tcp_allowed_congestion_control"
    usual = subprocess.run(["sysctl", "-n", allowed], capture_output=True, text=True).stdout.strip()
    subprocess.run(["sysctl", "-qw", f"{allowed}=reno cubic bbr"], check=True)
    atexit.register(lambda: subprocess.run(["sysctl", "-qw", f"{allowed}={usual}"], capture_output=True))
    subprocess.run(["cc", "-O2", "-Wall", "-Wextra", "-o", BUILT, HERE / "path.c", "-lm"], check=True)


if __name__ == "__main__":
    Trials(SEED, perform, "stations-", FORMATS, unsized=("least_s", "longest")).main(build)

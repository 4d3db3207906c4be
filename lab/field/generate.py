#!/usr/bin/env python3
"""Draws, provokes, checks, records and labels: generate.py --out DIR [--only CASE...] [--lanes N] [--list]. As root."""

import ctypes
import ipaddress
import json
import os
import re
import signal
import struct
import subprocess
import sys
import tempfile
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "common")]
import machine
import packets
import cases_ends, cases_healthy, cases_path, cases_simulated  # noqa: F401, E401 (they register their cases)
from network import ADDRESS, Network
from setups import SEED
from trials import Trials, disturbed, opening, parsed

# A run during which a waiting program or the path was later than this, or in which a capture missed packets, is repeated.
PROGRAM_P99_MS, PROGRAM_MAX_MS, PATH_P99_MS, PATH_MAX_MS = 10.0, 100.0, 8.0, 60.0
FORMATS = ("pcap", "pcap", "pcapng", "nsecpcap")
BUILT = Path(tempfile.gettempdir()) / "fielded-programs"
NS3 = ("core", "network", "internet", "point-to-point", "traffic-control", "wifi", "mobility", "propagation")
LWIP = {"default": "-DTCP_MSS=536", "two": "-DTCP_MSS=1460 -DTCP_WND=(2*TCP_MSS) -DTCP_SND_BUF=(2*TCP_MSS)",
        "four": "-DTCP_MSS=1460 -DTCP_WND=(4*TCP_MSS) -DTCP_SND_BUF=(4*TCP_MSS)",
        "eight": "-DTCP_MSS=1460 -DTCP_WND=(8*TCP_MSS) -DTCP_SND_BUF=(8*TCP_MSS)",
        "single": "-DTCP_MSS=1460 -DTCP_WND=(4*TCP_MSS) -DTCP_SND_BUF=TCP_MSS -DTCP_SND_QUEUELEN=8",
        "large": "-DTCP_MSS=1460 -DTCP_WND=65535 -DTCP_SND_BUF=65535"}

SCHED_SETATTR = 314

# Programs run as any other of this machine.
machine.NICE[:] = []


def short_slice():
    """The priority of any program, with a slice of 0.1 ms, for this process and its children: woken, none waits for the slices of others."""
    words = struct.pack("IIQiIQQQ", 48, 0, 0, 0, 0, 100_000, 0, 0)
    ctypes.CDLL(None).syscall(SCHED_SETATTR, 0, words, 0)


class Lateness(machine.Lateness):
    """With the priority of the programs."""

    def run(self):
        while not self.ends:
            until = time.monotonic() + 0.002
            time.sleep(0.002)
            self.late.append(time.monotonic() - until)


def is_newer(made, source):
    return made.exists() and made.stat().st_mtime > source.stat().st_mtime


def build():
    """The programs, and lwIP's sources from the package that carries them."""
    BUILT.mkdir(exist_ok=True)
    subprocess.run(["cc", "-O2", "-o", BUILT / "field-hold", HERE / "hold.c", "-lnetfilter_queue", "-lm"], check=True)
    if not all(is_newer(BUILT / "field-simulated", HERE / it) for it in ("simulated.cc", "capture.h")):
        subprocess.run(["g++", "-std=c++17", "-O1", "-w", "-o", BUILT / "field-simulated", HERE / "simulated.cc", *[f"-lns3-{it}" for it in NS3]], check=True)
    (BUILT / "ends.py").write_text((HERE / "ends.py").read_text())
    fetch = BUILT / "fetch"
    if not fetch.exists():
        fetch.mkdir()
        subprocess.run(["cargo", "init", "--quiet", "--name", "fetch"], cwd=fetch, check=True)
        subprocess.run(["cargo", "add", "--quiet", "lwip@=0.4.0"], cwd=fetch, check=True)
    found = json.loads(subprocess.run(["cargo", "metadata", "--format-version", "1"], cwd=fetch, check=True, capture_output=True).stdout)
    source = Path(next(it["manifest_path"] for it in found["packages"] if it["name"] == "lwip")).parent
    for name, options in LWIP.items():
        make, made = HERE.parent / "foreign" / "stations" / "lwip" / "make", BUILT / f"field-lwip-{name}"
        if not is_newer(made, make.with_name("station.c")):
            subprocess.run([make, source, made, *options.split()], check=True)


def truth_of(trial, folder, addresses, path, printed, programs):
    """What arrived, from the captures at both ends."""
    sender, receiver = trial["sender"], "B" if trial["sender"] == "A" else "A"
    packed = ipaddress.ip_address(addresses[sender]).packed
    octets, seconds, arrived = packets.delivered(packets.read(folder / f"{receiver}.pcap")[1], packed)
    sent = packets.delivered(packets.read(folder / f"{sender}.pcap")[1], packed)[2]
    return {"octets": octets, "seconds": round(seconds, 3), "lost_segments": sent - arrived,
            "goodput_bits_per_s": round(octets * 8 / seconds, 1) if octets and seconds > 0 else None,
            "path": {**path, "programs": programs, **opening(folder / "A.pcap")}, "printed": printed[-200:]}


def simulate(trial, folder, seed):
    """A run of simulated.cc; nothing of this machine limits it."""
    words = {**trial["simulated"], "out": folder, "seed": seed % 100_000 + 1, **({"octets": trial["octets"]} if "octets" in trial else {})}
    done = subprocess.run([BUILT / "field-simulated", *[f"--{key}={value}" for key, value in words.items()]], capture_output=True, text=True, timeout=120)
    if done.returncode:
        raise RuntimeError(done.stderr[-300:])
    counts = json.loads(done.stdout)
    return truth_of(trial, folder, {"A": "10.48.1.1", "B": "10.48.3.2"}, {"counts": counts, "socket": {}, "simulated": "ns-3 3.37"}, "", [counts])


def perform(trial, folder, seed, lane):
    """One run. Returns its truth; A.pcap, B.pcap and R.pcap (the middle) stay in `folder`."""
    os.chmod(folder.parent, 0o755)
    short_slice()
    if "simulated" in trial:
        return simulate(trial, folder, seed)
    for name, text in trial.get("files", {}).items():
        (folder / name).write_text(text.replace("@D", str(folder)).replace("@B", ADDRESS["B"]))
    count = str(int(trial.get("octets", 0)))
    with Network(trial, folder, lane, BUILT, seed) as net:
        watch, dumps = Lateness(), []
        for end, space, device in (("A", "A", "eth0"), ("B", "B", "eth0"), ("R", "R", f'to_{trial["sender"].lower()}')):
            words = ["tcpdump", "-i", device, "-B", "16384", "-s", "2000", "-n", "--immediate-mode", "-w", folder / f"{end}.pcap"]
            dumps.append(net.begin(space, words, f"dump-{end}"))
        servers = [net.start(end, command.replace("@N", count), f"server-{at}") for at, (end, command) in enumerate(trial["servers"])]
        time.sleep(1.2)
        watch.start()
        client = net.start(trial.get("client_at", "A"), trial["client"].replace("@N", count), "client")
        begun, sockets = time.monotonic(), {}
        until = begun + trial.get("longest", 22)
        events = list(trial.get("events", []))
        while client.poll() is None and time.monotonic() < until:
            try:
                client.wait(min(0.4, max(0.01, begun + events[0][0] - time.monotonic())) if events else 0.4)
            except subprocess.TimeoutExpired:
                pass
            if events and time.monotonic() >= begun + events[0][0]:
                net.ip("R", "link", "set", *events.pop(0)[1:])
                continue
            net.sample()
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
        programs = printed + "".join(net.stop(it, 1) for it in servers)
        counts = net.counters()
    late |= {f"path_{key}": counts.pop(key, 0.0) for key in ("late_p99_ms", "late_max_ms")}
    if any(missed):
        disturbed(f"captures missed {missed}")
    if late["late_p99_ms"] > PROGRAM_P99_MS or late["late_max_ms"] > PROGRAM_MAX_MS or late["path_late_p99_ms"] > PATH_P99_MS \
            or late["path_late_max_ms"] > PATH_MAX_MS:
        disturbed(f"{late}")
    return truth_of(trial, folder, ADDRESS, {"counts": counts, "socket": sockets, **late}, printed, [it for it in map(parsed, programs.splitlines()) if it])


if __name__ == "__main__":
    Trials(SEED, perform, "field-", FORMATS, (2.2, 9), 4.0).main(build)

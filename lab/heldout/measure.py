"""Runs a trial, and measures it by what its programs and the forwarder counted."""

import json
import re
import time
from dataclasses import replace
from pathlib import Path

from network import Network

# A trial during which the forwarder was later than this, or tcpdump missed packets, is repeated.
LATE_P99_US, LATE_MAX_US = 1000, 8000


class Unfit(Exception):
    """The machine disturbed the trial: repeat it."""


def changed(trial):
    """The trial without its cause."""
    fields = dict(trial.without)
    for name in ("path", "device", "sysctl"):
        if name in fields and isinstance(fields[name], dict):
            merged = {**(getattr(trial, name) or {}), **fields[name]}
            fields[name] = {key: value for key, value in merged.items() if value is not None}
    return replace(trial, **fields)


def perform(trial, slot, subnet, folder, seed, capture=True):
    """One run. Returns its truth; with `capture`, a.pcap, b.pcap and middle.pcap are in the folder."""
    folder = Path(folder)
    middle = folder / "middle.pcap" if capture else None
    with Network(slot, trial, subnet, folder, middle, seed) as net:
        dumps = []
        if capture:
            for end in "AB":
                file = folder / f"{end.lower()}.pcap"
                dumps.append(net.start(end, ["tcpdump", "-i", net.interface(end), "-B", "32768", "-s", "0", "-n", "-w",
                                             file], f"tcpdump-{end}"))
            time.sleep(0.5)
        servers = [net.start(end, command, f"server-{at}") for at, (end, command) in enumerate(trial.servers)]
        time.sleep(0.6 if any(command[0] in ("python3", "iperf", "iperf3") for _, command in trial.servers) else 0.15)
        beside = [net.start(end, command, f"beside-{at}") for at, (end, command) in enumerate(trial.beside)]
        began = time.monotonic()
        client = net.start(*trial.client, "client")
        try:
            client.wait(trial.longest)
        except Exception:
            pass
        took = time.monotonic() - began
        printed = net.stop(client)[0]
        time.sleep(0.3)
        for process in beside:
            net.stop(process, 1)
        served = [net.stop(process, 1)[0] for process in servers]
        device = json.loads(net.stop(net.device)[0]) if net.device else None
        # tcpdump keeps up to a second of packets in a block of its buffer, and forgets them when it ends.
        time.sleep(1.2 if capture else 0)
        missed = [net.stop(dump)[1] for dump in dumps]
        path = net.counters()
    if path["late_p99_us"] > LATE_P99_US or path["late_max_us"] > LATE_MAX_US:
        raise Unfit(f"forwarder late by {path['late_max_us']} us")
    for text in missed:
        dropped = re.search(r"(\d+) packets dropped by kernel", text)
        if not dropped or int(dropped[1]):
            raise Unfit(f"tcpdump: {text.strip()[-80:]}")
    if capture:
        complete(trial, path, missed)
    truth = {"goodput_bits_per_s": None, "without_bits_per_s": None, "seconds": round(took, 3), "path": path}
    if device:
        truth["device"] = device
    truth["programs"] = objects(printed) + [it for text in served for it in objects(text)]
    octets, seconds = MEASURES[trial.measure](printed, served, device, took)
    if octets and seconds and seconds > 0:
        truth["goodput_bits_per_s"] = round(octets * 8 / seconds, 1)
    return truth


def complete(trial, path, missed):
    """Compares the captures with what the forwarder received and sent at each end."""
    ab, ba = path["ab"], path["ba"]
    for end, text, frames in zip("AB", missed, (ab["frames"] + ba["passed"], ab["passed"] + ba["frames"])):
        captured = int(re.search(r"(\d+) packets captured", text)[1])
        if end not in trial.offload and captured < 0.98 * frames - 2:
            raise Unfit(f"capture at {end}: {captured} of {frames} packets")


def objects(text):
    """The JSON objects that a program printed one a line."""
    found = []
    for line in text.splitlines():
        try:
            it = json.loads(line)
        except ValueError:
            continue
        if isinstance(it, dict):
            found.append(it)
    return found


def summed(text):
    them = [it for it in objects(text) if "octets" in it]
    return sum(it["octets"] for it in them), sum(it["seconds"] for it in them)


def from_iperf3(printed, *_):
    end = json.loads(printed)["end"]
    sums = end.get("sum_received") or end["sum"]
    return sums["bytes"], sums["seconds"]


def from_iperf(printed, *_):
    fields = [line.split(",") for line in printed.splitlines() if line.count(",") >= 8][-1]
    return float(fields[7]), float(fields[7]) * 8 / max(1.0, float(fields[8]))


def from_served(printed, served, *_):
    return summed("\n".join(served))


MEASURES = {
    "app": lambda printed, *_: summed(printed),       # also of curl -w
    "served": from_served,                            # the sink
    "iperf3": from_iperf3,
    "iperf": from_iperf,
    "device": lambda printed, served, device, took: (device["octets"], device["seconds"]),
    "none": lambda *_: (None, None),
}

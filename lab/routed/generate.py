#!/usr/bin/env python3
"""Draws, provokes, records and labels: generate.py --out DIR [--only CASE...] [--list]. As root."""

import argparse
import atexit
import ipaddress
import json
import os
import re
import shutil
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
from cases import CASES
from cut import cut
from draw import Draw
from machine import Lateness
from network import Network

# A trial during which a waiting program was later than this, or in which a capture missed packets, is recorded again.
LATE_P99_MS, LATE_MAX_MS = 4.0, 60.0
ATTEMPTS = 4


class Disturbed(Exception):
    """The machine was too busy."""


def perform(trial, folder, kept):
    """One run of a trial. Returns its truth; the captures stay in `folder`."""
    folder.mkdir(parents=True)
    (folder / "cgi-bin").mkdir()
    with Network(trial, folder) as net:
        files = {**trial.get("files", {})}
        for name, text in files.items():
            (folder / name).write_text(text.replace("@D", str(folder)).replace("@B", net.address["B"]))
        watch = Lateness()
        dumps = []
        for end, name in (("A", "eth0"), ("R", trial.get("middle", "eth0")), ("B", "eth0")):
            dumps.append((end, net.start(end, f"exec tcpdump -i {name} -B 16384 -s 2000 -n --immediate-mode -w @D/{end}.pcap", f"dump-{end}")))
        servers = [net.start(end, command, f"server-{at}") for at, (end, command) in enumerate(trial["servers"])]
        time.sleep(1.2)
        watch.start()
        timers = [threading.Timer(after, lambda e=end, c=command: subprocess.run(
            ["ip", "netns", "exec", net.space[e], "bash", "-c", c], capture_output=True))
            for after, end, command in trial.get("events", [])]
        host = f"[{net.address['B']}]" if trial.get("ipv6") else net.address["B"]
        client = net.start("A", trial["client"].replace("@H", host), "client")
        for timer in timers:
            timer.start()
        try:
            client.wait(trial.get("longest", 30))
        except subprocess.TimeoutExpired:
            pass
        printed = net.stop(client)
        for timer in timers:
            timer.join()
        time.sleep(0.4)
        late = watch.end()
        counts = net.counters()
        for server in servers:
            net.stop(server, 1)
        missed = []
        for end, dump in dumps:
            os.killpg(dump.pid, signal.SIGINT)
            try:
                dump.wait(5)
            except subprocess.TimeoutExpired:
                pass
            text = net.stop(dump)
            found = re.search(r"(\d+) packets dropped by kernel", text)
            missed.append(int(found[1]) if found else -1)
        packed = {end: ipaddress.ip_address(net.address[end]).packed for end in "AB"}
    if any(missed):
        raise Disturbed(f"captures missed {missed}")
    if late["late_p99_ms"] > LATE_P99_MS or late["late_max_ms"] > LATE_MAX_MS:
        raise Disturbed(f"{late}")
    sender, receiver = trial["sender"], "B" if trial["sender"] == "A" else "A"
    octets, seconds, arrived = packets.delivered(packets.read(folder / f"{receiver}.pcap")[1], packed[sender])
    _, _, sent = packets.delivered(packets.read(folder / f"{sender}.pcap")[1], packed[sender])
    truth = {"octets": octets, "seconds": round(seconds, 3), "lost_segments": sent - arrived,
             "goodput_bits_per_s": round(octets * 8 / seconds, 1) if octets and seconds > 0 else None,
             "path": {"counts": counts, **late}, "printed": printed[-200:]}
    return truth


def again(trial, folder, log):
    """The run, repeated as long as the machine disturbs it."""
    for attempt in range(ATTEMPTS):
        shutil.rmtree(folder, ignore_errors=True)
        try:
            return perform(trial, folder, True)
        except Disturbed as error:
            log(f"  disturbed: {error}")
    return None


def record(name, number, out, log):
    """A trial: its run, the run without the cause, the captures of each kind. Returns its labels."""
    case = CASES[name]
    draw = Draw("routed", name, number)
    trial = case["make"](draw)
    draw.settings["congestion"] = trial.setdefault("congestion", draw.random.choice(("cubic", "cubic", "reno")))
    scratch = Path(tempfile.mkdtemp(prefix="routed-"))
    try:
        truth = again(trial, scratch / "run", log)
        if truth is None:
            return None, "disturbed"
        truth["without_bits_per_s"] = None
        if trial.get("without") is not None:
            other = again({**trial, **trial["without"]}, scratch / "without", log)
            if other is None:
                return None, "disturbed"
            truth["without_bits_per_s"] = other["goodput_bits_per_s"]
        try:
            fits = case["check"](truth, trial)
        except TypeError:
            fits = False
        if truth["seconds"] < trial.get("least_s", 0 if "truncated" not in case["kinds"] or trial.get("one_end") else 1.5):
            return None, f"over after {truth['seconds']} s: {truth['printed']}"
        if not fits:
            shown = [truth[it] for it in ("goodput_bits_per_s", "without_bits_per_s", "lost_segments", "printed")]
            return None, f"the cause did not show: {shown}"
        return cut(name, number, case, draw, trial, truth, scratch / "run", out), "recorded"
    finally:
        shutil.rmtree(scratch, ignore_errors=True)


def stop(*_):
    raise SystemExit("ended")


def main():
    signal.signal(signal.SIGTERM, stop)
    parser = argparse.ArgumentParser()
    parser.add_argument("--out", type=Path)
    parser.add_argument("--only", nargs="+", default=[])
    parser.add_argument("--list", action="store_true")
    parser.add_argument("--first", action="store_true", help="one trial of each case")
    options = parser.parse_args()
    if options.list:
        for name, case in CASES.items():
            for number in range(1, case["count"] + 1):
                draw = Draw("routed", name, number)
                case["make"](draw)
                print(name, number, json.dumps(draw.settings))
        return
    allowed = "net.ipv4.tcp_allowed_congestion_control"
    usual = subprocess.run(["sysctl", "-n", allowed], capture_output=True, text=True).stdout.strip()
    subprocess.run(["sysctl", "-qw", f"{allowed}=reno cubic bbr"], check=True)
    atexit.register(lambda: subprocess.run(["sysctl", "-qw", f"{allowed}={usual}"], capture_output=True))
    options.out.mkdir(parents=True, exist_ok=True)
    done = options.out / "trials.ndjson"
    before = [json.loads(it) for it in done.read_text().splitlines()] if done.exists() else []
    recorded = {(it["case"], it["seed"]) for it in before if it["result"] == "recorded"}
    for name, case in CASES.items():
        if options.only and name not in options.only:
            continue
        for number in range(1, 2 if options.first else case["count"] + 1):
            if (name, number) in recorded:
                continue
            began = time.monotonic()
            try:
                labels, result = record(name, number, options.out, lambda text: print(text, flush=True))
            except (RuntimeError, ValueError, OSError, subprocess.SubprocessError) as error:
                labels, result = None, f"failed: {error}"
            print(f"{name} {number}: {result} ({time.monotonic() - began:.0f} s)", flush=True)
            if labels:
                with open(options.out / "labels.ndjson", "a") as file:
                    file.writelines(json.dumps(it) + "\n" for it in labels)
            with open(done, "a") as file:
                file.write(json.dumps({"case": name, "seed": number, "result": result}) + "\n")


if __name__ == "__main__":
    main()

#!/usr/bin/env python3
"""Draws, provokes, checks, records and labels: generate.py --out DIR [--only CASE...] [--lanes N] [--list]. As root."""

import argparse
import ipaddress
import json
import multiprocessing
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ProcessPoolExecutor, as_completed
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "common")]
import packets
import cases_ends, cases_healthy, cases_path  # noqa: F401, E401 (they register their cases)
from cut import cut
from draw import CASES, Draw
import machine
from network import ADDRESS, Network
from setups import SEED

# A run during which a waiting program or the path was later than this, or in which a capture missed packets, is repeated.
PROGRAM_P99_MS, PROGRAM_MAX_MS, PATH_P99_MS, PATH_MAX_MS = 4.0, 60.0, 2.0, 25.0
ATTEMPTS = 4
FORMATS = ("pcap", "pcap", "pcap", "pcapng", "nsecpcap")
BUILT = Path(tempfile.gettempdir())
LANE = None
IS_DRAFT = False


# The programs of the ends come before what else this machine does.
machine.NICE[:] = ["chrt", "-r", "1"]


class Lateness(machine.Lateness):
    """With the priority of the programs."""

    def run(self):
        os.sched_setscheduler(0, os.SCHED_RR, os.sched_param(1))
        super().run()


class Disturbed(Exception):
    """The machine was too busy."""


def resolved(trial, seed):
    """The options of the path for this direction of the data."""
    ways = {"there.": "ab." if trial["sender"] == "A" else "ba.", "back.": "ba." if trial["sender"] == "A" else "ab."}
    path = {}
    for key, value in trial["path"].items():
        for name, way in ways.items():
            key = key.replace(name, way)
        path[key] = value
    return {**trial, "path": {**path, "seed": seed}}


def perform(trial, folder, seed):
    """One run. Returns its truth; A.pcap, B.pcap and R.pcap (the middle) stay in `folder`."""
    folder.mkdir(parents=True)
    # Another set's generator may have restored it.
    machine.run("sysctl", "-qw", "net.ipv4.tcp_allowed_congestion_control=reno cubic bbr")
    for name, text in trial.get("files", {}).items():
        (folder / name).write_text(text.replace("@D", str(folder)).replace("@B", ADDRESS["B"]))
    count = str(int(trial.get("octets", 0)))
    with Network(resolved(trial, seed), folder, LANE, BUILT) as net:
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
    if any(missed) and not IS_DRAFT:
        raise Disturbed(f"captures missed {missed}")
    if not IS_DRAFT and is_late(late):
        raise Disturbed(f"{late}")
    sender, receiver = trial["sender"], "B" if trial["sender"] == "A" else "A"
    packed = ipaddress.ip_address(ADDRESS[sender]).packed
    octets, seconds, arrived = packets.delivered(packets.read(folder / f"{receiver}.pcap")[1], packed)
    sent = packets.delivered(packets.read(folder / f"{sender}.pcap")[1], packed)[2]
    programs = [it for it in map(parsed, told.splitlines()) if it]
    return {"octets": octets, "seconds": round(seconds, 3), "lost_segments": sent - arrived,
            "goodput_bits_per_s": round(octets * 8 / seconds, 1) if octets and seconds > 0 else None,
            "path": {"counts": counts, "socket": sockets, "programs": programs, **opening(folder), **late}, "printed": printed[-200:]}


def is_late(late):
    return late["late_p99_ms"] > PROGRAM_P99_MS or late["late_max_ms"] > PROGRAM_MAX_MS \
        or late["path_late_p99_ms"] > PATH_P99_MS or late["path_late_max_ms"] > PATH_MAX_MS


def parsed(line):
    try:
        found = json.loads(line)
    except ValueError:
        return None
    return found if isinstance(found, dict) else None


def opening(folder):
    """At A: seconds from the first packet of TCP, and from the first packet of all, to the first payload of TCP."""
    first = syn = None
    for packet in packets.read(folder / "A.pcap")[1]:
        it = packets.payload(packet)
        if it is None:
            continue
        first = packet[0] if first is None else first
        if it[0] == 6:
            syn = packet[0] if syn is None else syn
            if it[5] > 0:
                return {"opening_s": round(packet[0] - syn, 3), "wait_s": round(packet[0] - first, 3)}
    return {"opening_s": 0, "wait_s": 0}


def undisturbed(trial, folder, seed, log):
    """The run, repeated as long as the machine disturbs it."""
    for _ in range(ATTEMPTS):
        shutil.rmtree(folder, ignore_errors=True)
        try:
            return perform(trial, folder, seed)
        except Disturbed as error:
            log.append(f"disturbed: {error}")
    return None


def measured(trial, folder, seed, log):
    """The run; its octets are changed if it is too short or too long to show anything."""
    for _ in range(3):
        truth = undisturbed(trial, folder, seed, log)
        is_given = "octets" not in trial or trial.get("fixed_octets") or "least_s" in trial or "longest" in trial
        if truth is None or is_given or not truth["seconds"] or 2.4 <= truth["seconds"] <= 14:
            return truth
        trial = {**trial, "octets": int(trial["octets"] * min(12, max(0.05, 4.5 / truth["seconds"])))}
        log.append(f"lasts {truth['seconds']} s; {trial['octets']} octets")
    return truth


def record(name, number, out):
    """A trial: its run, the run without the cause, the captures of each kind. Returns labels, result, log."""
    case, log = CASES[name], []
    draw = Draw(SEED, name, number)
    trial = case["make"](draw)
    draw.settings["congestion"] = trial.setdefault("congestion", draw.random.choice(("cubic", "cubic", "reno")))
    draw.settings["timestamps"] = trial.setdefault("timestamps", draw.random.choice((1, 1, 0)))
    trial.setdefault("middle", trial["sender"])
    seed = draw.random.randrange(1, 1 << 31)
    scratch = Path(tempfile.mkdtemp(prefix="access-"))
    os.chmod(scratch, 0o755)
    try:
        truth = measured(trial, scratch / "run", seed, log)
        if truth is None:
            return None, "disturbed", log
        truth["without_bits_per_s"] = None
        if "without" in trial and (case["gain"] or "without the cause" in getattr(case["check"], "text", "")):
            other = measured({**trial, **trial["without"]}, scratch / "without", seed, log)
            if other is None:
                return None, "disturbed", log
            truth["without_bits_per_s"] = other["goodput_bits_per_s"]
        least = trial.get("least_s", 1.5 if "late" in case["kinds"] or "truncated" in case["kinds"] else 0)
        shown = json.dumps({key: truth[key] for key in truth if key != "printed"})
        if truth["seconds"] < least and not trial.get("one_end"):
            return None, f"over after {truth['seconds']} s: {truth['printed']} {shown}", log
        try:
            fits = case["check"](truth, trial)
        except TypeError:
            fits = False
        if not fits:
            return None, f"the cause did not show: {shown} {truth['printed']}", log
        return cut(name, number, case, draw, trial, truth, scratch / "run", out, FORMATS), "recorded", log
    finally:
        shutil.rmtree(scratch, ignore_errors=True)


def safely(name, number, out):
    try:
        return record(name, number, out)
    except (RuntimeError, ValueError, KeyError, OSError, subprocess.SubprocessError) as error:
        return None, f"failed: {type(error).__name__} {error}", []


def enter_lane(lanes):
    global LANE
    LANE = lanes.get()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))


def main():
    global IS_DRAFT
    parser = argparse.ArgumentParser()
    parser.add_argument("--out", type=Path)
    parser.add_argument("--only", nargs="+", default=[])
    parser.add_argument("--list", action="store_true")
    parser.add_argument("--first", action="store_true", help="one trial of each case")
    parser.add_argument("--lanes", type=int, default=2, help="networks at a time")
    parser.add_argument("--draft", action="store_true", help="keep runs that a busy machine disturbed: to try a case, not to label it")
    options = parser.parse_args()
    IS_DRAFT = options.draft
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("ended"))
    names = [it for it in CASES if not options.only or it in options.only]
    # One trial of each case after the other, so that what is alike does not run at a time.
    wanted = [(name, number) for number in range(1, 9) for name in names if number <= (1 if options.first else CASES[name]["count"])]
    if options.list:
        for name, number in wanted:
            draw = Draw(SEED, name, number)
            CASES[name]["make"](draw)
            print(name, number, json.dumps(draw.settings))
        return
    for name, source in (("path", "path/main.rs"), ("ends", "ends.rs")):
        subprocess.run(["rustc", "--edition", "2021", "-O", "-o", BUILT / f"access-{name}", HERE / source], check=True)
    options.out.mkdir(parents=True, exist_ok=True)
    done = options.out / "trials.ndjson"
    before = [json.loads(it) for it in done.read_text().splitlines()] if done.exists() else []
    recorded = {(it["case"], it["seed"]) for it in before if it["result"] == "recorded"}
    lanes = multiprocessing.Queue()
    for lane in range(options.lanes):
        lanes.put(lane)
    with ProcessPoolExecutor(options.lanes, initializer=enter_lane, initargs=(lanes,)) as pool:
        running = {pool.submit(safely, *it, options.out): (it, time.monotonic()) for it in wanted if it not in recorded}
        for future in as_completed(running):
            (name, number), began = running[future]
            labels, result, log = future.result()
            print(f"{time.strftime('%H:%M:%S')} {name} {number}: {result} {'; '.join(log)}", flush=True)
            with open(options.out / "labels.ndjson", "a") as file:
                file.writelines(json.dumps(it) + "\n" for it in labels or [])
            with open(done, "a") as file:
                file.write(json.dumps({"case": name, "seed": number, "result": result, "log": log}) + "\n")


if __name__ == "__main__":
    main()

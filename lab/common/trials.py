"""Runs of trials: repeated while the machine disturbs them, sized, checked, cut and labelled. A set gives `perform`."""

import argparse
import json
import multiprocessing
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ProcessPoolExecutor, as_completed
from pathlib import Path

import packets
from cut import cut
from draw import CASES, Draw

ATTEMPTS = 4
LANE = None
IS_DRAFT = False


class Disturbed(Exception):
    """The machine was too busy, or a capture missed packets."""


def disturbed(text):
    """The run has to be repeated, unless it only tries a case."""
    if not IS_DRAFT:
        raise Disturbed(text)


def parsed(line):
    """The JSON object that a program printed on a line, or None."""
    try:
        found = json.loads(line)
    except ValueError:
        return None
    return found if isinstance(found, dict) else None


def opening(file):
    """Seconds from the first packet of TCP, and from the first packet of all, to the first payload of TCP."""
    first = syn = None
    for packet in packets.read(file)[1]:
        it = packets.payload(packet)
        if it is None:
            continue
        first = packet[0] if first is None else first
        if it[0] == 6:
            syn = packet[0] if syn is None else syn
            if it[5] > 0:
                return {"opening_s": round(packet[0] - syn, 3), "wait_s": round(packet[0] - first, 3)}
    return {"opening_s": 0, "wait_s": 0}


class Trials:
    """The trials of a set. `perform(trial, folder, seed, lane)` returns the truth of a run, or calls `disturbed`. A run that does not
    last as long as wanted gets other octets, unless its trial has one of the `unsized` keys."""

    def __init__(self, seed, perform, prefix, formats, lasts_s=(2.4, 14), aim_s=4.5, unsized=()):
        self.seed, self.perform, self.prefix, self.formats, self.lasts_s, self.aim_s = seed, perform, prefix, formats, lasts_s, aim_s
        self.unsized = unsized

    def undisturbed(self, trial, folder, seed, log):
        """The run, repeated as long as the machine disturbs it."""
        for _ in range(ATTEMPTS):
            shutil.rmtree(folder, ignore_errors=True)
            folder.mkdir(parents=True)
            try:
                return self.perform(trial, folder, seed, LANE)
            except Disturbed as error:
                log.append(f"disturbed: {error}")
        return None

    def measured(self, trial, folder, seed, log):
        """The run; its octets are changed if it is too short or too long to show anything."""
        for _ in range(3):
            truth = self.undisturbed(trial, folder, seed, log)
            is_given = "octets" not in trial or trial.get("fixed_octets") or any(key in trial for key in self.unsized)
            if truth is None or is_given or not truth["seconds"] or self.lasts_s[0] <= truth["seconds"] <= self.lasts_s[1]:
                return truth
            trial = {**trial, "octets": int(trial["octets"] * min(12, max(0.05, self.aim_s / truth["seconds"])))}
            log.append(f"lasts {truth['seconds']} s; {trial['octets']} octets")
        return truth

    def record(self, name, number, out):
        """A trial: its run, the run without the cause, the captures of each kind. Returns labels, result, log."""
        case, log = CASES[name], []
        draw = Draw(self.seed, name, number)
        trial = case["make"](draw)
        draw.settings["congestion"] = trial.setdefault("congestion", draw.random.choice(("cubic", "cubic", "reno")))
        draw.settings["timestamps"] = trial.setdefault("timestamps", draw.random.choice((1, 1, 0)))
        seed = draw.random.randrange(1, 1 << 31)
        scratch = Path(tempfile.mkdtemp(prefix=self.prefix))
        os.chmod(scratch, 0o755)
        try:
            truth = self.measured(trial, scratch / "run", seed, log)
            if truth is None:
                return None, "disturbed", log
            truth["without_bits_per_s"] = None
            if "without" in trial and (case["gain"] or "without the cause" in getattr(case["check"], "text", "")):
                other = self.measured({**trial, **trial["without"]}, scratch / "without", seed, log)
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
            return cut(name, number, case, draw, trial, truth, scratch / "run", out, self.formats), "recorded", log
        finally:
            shutil.rmtree(scratch, ignore_errors=True)

    def safely(self, name, number, out):
        try:
            return self.record(name, number, out)
        except (RuntimeError, ValueError, LookupError, OSError, subprocess.SubprocessError) as error:
            return None, f"failed: {type(error).__name__} {error}", []

    def main(self, build):
        """The command line; `build()` makes the programs of the set."""
        global IS_DRAFT
        parser = argparse.ArgumentParser()
        parser.add_argument("--out", type=Path)
        parser.add_argument("--only", nargs="+", default=[])
        parser.add_argument("--list", action="store_true", help="print the settings drawn")
        parser.add_argument("--first", action="store_true", help="one trial of each case")
        parser.add_argument("--lanes", type=int, default=2, help="networks at a time")
        parser.add_argument("--draft", action="store_true", help="keep runs that a busy machine disturbed: to try a case, not to label it")
        options = parser.parse_args()
        IS_DRAFT = options.draft
        signal.signal(signal.SIGTERM, end)
        names = [it for it in CASES if not options.only or it in options.only]
        # One trial of each case after the other, so that what is alike does not run at a time.
        wanted = [(name, number) for number in range(1, 9) for name in names if number <= (1 if options.first else CASES[name]["count"])]
        if options.list:
            for name, number in wanted:
                draw = Draw(self.seed, name, number)
                CASES[name]["make"](draw)
                print(name, number, json.dumps(draw.settings))
            return
        build()
        options.out.mkdir(parents=True, exist_ok=True)
        done = options.out / "trials.ndjson"
        before = [json.loads(it) for it in done.read_text().splitlines()] if done.exists() else []
        recorded = {(it["case"], it["seed"]) for it in before if it["result"] == "recorded"}
        lanes = multiprocessing.Queue()
        for lane in range(options.lanes):
            lanes.put(lane)
        with ProcessPoolExecutor(options.lanes, initializer=enter_lane, initargs=(lanes,)) as pool:
            running = {pool.submit(self.safely, *it, options.out): it for it in wanted if it not in recorded}
            for future in as_completed(running):
                name, number = running[future]
                labels, result, log = future.result()
                print(f"{time.strftime('%H:%M:%S')} {name} {number}: {result} {'; '.join(log)}", flush=True)
                with open(options.out / "labels.ndjson", "a") as file:
                    file.writelines(json.dumps(it) + "\n" for it in labels or [])
                with open(done, "a") as file:
                    file.write(json.dumps({"case": name, "seed": number, "result": result, "log": log}) + "\n")


def end(*_):
    for it in multiprocessing.active_children():
        it.terminate()
    sys.exit("ended")


def enter_lane(lanes):
    global LANE
    LANE = lanes.get()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))

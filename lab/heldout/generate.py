"""Draws, runs, checks and labels the trials: see README.md, and `make` beside this file."""

import argparse
import fcntl
import hashlib
import json
import queue
import random
import sys
import tempfile
import threading
import traceback
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import cut
import measure
from cases import behaviour, device, healthy, losses, opening, rates, windows  # noqa: F401 (they register their cases)
from draw import Draw
from network import BUILT
from trial import CASES

PART = "held-out"
DRAWS, REPEATS = 6, 5
LOCK = threading.Lock()


def kinds_of(case, number, settings):
    """Every trial is captured at both ends; `late` and `snapped` alternate between the ends, every second one has a
    capture in the middle."""
    ends = ("sender", "receiver")
    kinds = []
    for kind in case.kinds:
        if kind == "late":
            kinds.append(f"late-{ends[number % 2]}")
        elif kind == "snapped":
            kinds.append(f"snapped-{ends[(number + 1) % 2]}")
        elif kind != "middle" or number % 2:
            kinds.append(kind)
    return [kind for kind in kinds if kind.split("-")[-1] != case.blind(settings)]


def labels_of(case, number, draw, trial, truth, folder, out):
    """Writes the captures of a trial, and returns their labels."""
    dice = random.Random(f"cut:{case.name}:{number}")
    place = {"sender": trial.sender.lower(), "receiver": "ab".replace(trial.sender.lower(), ""), "middle": "middle"}
    for kind in kinds_of(case, number, draw.settings):
        end = kind.split("-")[-1]
        head, packets = cut.read(folder / f"{place[end]}.pcap")
        packets, how, snap = cut.in_order(packets), {}, 0
        if trial.missing:
            packets = cut.without_some(packets, trial.missing, dice)
        if kind.startswith("late"):
            packets, left_out = cut.late(packets, dice.uniform(*case.late))
            how["begun_after_s"] = round(left_out, 3)
        if kind.startswith("snapped"):
            snap = how["octets_per_packet"] = dice.choice(cut.SNAPS)
        file = out / f"{case.name}-{number}-{kind}.pcap"
        cut.write(file, head, packets, snap)
        figures = {name: truth[name] for name in ("goodput_bits_per_s", "without_bits_per_s")}
        if not case.gain or kind.startswith("late") and not case.steady:
            figures["without_bits_per_s"] = None
        yield {"file": file.name, "case": case.name, "seed": number, "part": PART, "kind": kind,
               **words(case, kind, draw.settings, truth["path"]), "truth": figures, "path": truth["path"],
               "settings": draw.settings, **how, "packets": len(packets),
               "sha256": hashlib.sha256(file.read_bytes()).hexdigest()}


def words(case, kind, settings, path):
    """The answer of a label, and its reason."""
    return {"expected": case.answer(kind, settings, path), "control": case.control, "reason": case.reason}


def attempt(case, number, redraw, slot, out):
    """One draw of a trial. Returns its labels, or None if the cause did not limit it."""
    draw = Draw(case.name, number, redraw)
    trial = case.make(draw)
    subnet = f"10.{draw.random.randint(20, 220)}.{draw.random.randint(0, 250)}"
    seed = draw.random.randint(1, 10**9)
    with tempfile.TemporaryDirectory(prefix="heldout-") as folder:
        folder = Path(folder)
        truth = repeated(trial, slot, subnet, folder, seed)
        if trial.without is not None:
            other = repeated(measure.changed(trial), slot, subnet, folder, seed, capture=False)
            truth["without_bits_per_s"] = other["goodput_bits_per_s"]
        missing = [name for name in ("goodput_bits_per_s", "without_bits_per_s") if truth[name] is None]
        needed = {"goodput_bits_per_s"} if trial.measure != "none" else set()
        needed |= {"without_bits_per_s"} if trial.without is not None else set()
        if needed & set(missing) or not trial.check(truth):
            note(out, case, number, redraw, "discarded", draw, truth)
            return None
        note(out, case, number, redraw, "kept", draw, truth)
        return list(labels_of(case, number, draw, trial, truth, folder, out))


def repeated(trial, slot, subnet, folder, seed, capture=True):
    for left in reversed(range(REPEATS)):
        try:
            return measure.perform(trial, slot, subnet, folder, seed, capture)
        except measure.Unfit as reason:
            print(f"  again: {reason}", flush=True)
            if not left:
                raise


def note(out, case, number, redraw, verdict, draw, truth):
    """The log of all trials, also of those that were discarded."""
    with LOCK, open(out / "trials.ndjson", "a") as log:
        log.write(json.dumps({"case": case.name, "seed": number, "draw": redraw, "verdict": verdict,
                              "settings": draw.settings, "truth": truth}) + "\n")


def make(case, number, slots, out):
    slot = slots.get()
    try:
        for redraw in range(DRAWS):
            try:
                labels = attempt(case, number, redraw, slot, out)
            except Exception:
                traceback.print_exc()
                labels = None
            if labels is not None:
                break
        with LOCK:
            print(f"{case.name} {number}: {'given up' if labels is None else f'draw {redraw}, {len(labels)} captures'}",
                  flush=True)
            with open(out / "labels.ndjson", "a") as file:
                for label in labels or []:
                    file.write(json.dumps(label) + "\n")
    finally:
        slots.put(slot)


def ranges(case):
    drawn = {}
    for number in range(1, case.count + 1):
        draw = Draw(case.name, number)
        case.make(draw)
        drawn.update(draw.ranges)
    return "; ".join(f"{name}: {text}" for name, text in drawn.items())


def relabel(out):
    """Answers, reasons and kinds of the labels as the cases have them now."""
    lines = []
    for line in (out / "labels.ndjson").read_text().splitlines():
        label = json.loads(line)
        case = CASES[label["case"]]
        if label["kind"] not in kinds_of(case, label["seed"], label["settings"]):
            (out / label["file"]).unlink(missing_ok=True)
            continue
        label |= words(case, label["kind"], label["settings"], label["path"])
        if not case.gain:
            label["truth"]["without_bits_per_s"] = None
        lines.append(json.dumps(label) + "\n")
    (out / "labels.ndjson").write_text("".join(lines))


def main():
    options = argparse.ArgumentParser()
    options.add_argument("--out", type=Path)
    options.add_argument("--only", nargs="+", default=[])
    options.add_argument("--list", action="store_true", help="the cases with the ranges of their settings, as Markdown")
    options.add_argument("--relabel", action="store_true", help="write the labels' words again, run nothing")
    options.add_argument("--slots", type=int, default=2)
    options.add_argument("--trials", type=int, default=9, help="at most so many trials of each case")
    options = options.parse_args()
    cases = [it for it in CASES.values() if not options.only or it.name in options.only]
    if options.list or not options.out:
        print("| case | trials | drawn from |\n|---|---|---|")
        for case in cases:
            print(f"| {case.name} | {case.count} | {ranges(case)} |")
        return
    out = options.out
    if options.relabel:
        relabel(out)
        return
    out.mkdir(parents=True, exist_ok=True)
    alone = open(BUILT / "lock", "w")
    fcntl.flock(alone, fcntl.LOCK_EX | fcntl.LOCK_NB)  # the namespaces' names are the same in every run
    done = set()
    if (out / "labels.ndjson").exists():
        lines = (json.loads(line) for line in (out / "labels.ndjson").read_text().splitlines())
        done = {(it["case"], it["seed"]) for it in lines}
    slots = queue.Queue()
    for slot in range(options.slots):
        slots.put(slot)
    with ThreadPoolExecutor(options.slots) as pool:
        for number in range(1, min(options.trials, max(case.count for case in cases)) + 1):
            for case in cases:
                if number <= case.count and (case.name, number) not in done:
                    pool.submit(make, case, number, slots, out)
    lines = sorted((out / "labels.ndjson").read_text().splitlines(),
                   key=lambda line: (list(CASES).index(json.loads(line)["case"]), json.loads(line)["seed"]))
    (out / "labels.ndjson").write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    sys.exit(main())

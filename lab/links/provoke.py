"""Provokes the cases of the catalogue and captures each at both ends.

    python3 lab/links/provoke.py --part development --out DIR [--only NAME …] [--seeds N] [--logs] [--list]
"""

import argparse
import json
import signal
import sys
import tempfile
import time
from pathlib import Path
from typing import Any, Optional

import captures
from cases import CASES
from model import KINDS, Case, Draw
from network import Failed, Network

LABELS = "labels.ndjson"
ATTEMPTS = 4
# No delivery of the relay may be later than this: such a pause would be a stall of its own.
LATEST_US = 15_000
# Of few frames, 99% are nearly all, and a conversation at leisure does not depend on half a millisecond.
FEW, FEW_LATENESS_US = 800, 2_500


def once(case: Case, draw: Draw, folder: Path, log: Any) -> dict[str, Any]:
    """One run with a capture at each end, in `folder`; returns what the relay reports."""
    setup = case.build(draw)
    with Network(setup) as network:
        for end in ("left", "right"):
            network.capture(end, folder / f"{end}.pcap")
        network.run_programs(log)
        network.stop_captures()
        report = network.relay_report()
    frames = sum(report[it]["frames"] for it in ("forward", "backward")) if report else 0
    limit = setup.lateness_us if frames > FEW else FEW_LATENESS_US
    if report and (report["late_p99_us"] > limit or report["late_max_us"] > LATEST_US):
        raise Failed(f"the machine was too slow: {report}")
    return report


def provoke(case: Case, draw: Draw, folder: Path) -> dict[str, Any]:
    """A run that the machine kept up with."""
    log_file = folder / "programs.log"
    for attempt in range(ATTEMPTS):
        with log_file.open("wb") as log:
            try:
                return once(case, draw, folder, log)
            except Failed as failed:
                print(f"    again: {failed}", flush=True)
                time.sleep(2 * attempt)
    raise Failed("too often")


def derive(case: Case, draw: Draw, folder: Path, out: Path, stem: str) -> list[tuple[str, Optional[float]]]:
    """Writes all kinds of capture of a run; returns each kind with its goodput."""
    written = []
    snap = captures.SHORT[draw.random.randrange(len(captures.SHORT))]
    for end, name in (("left", "sender"), ("right", "receiver")):
        raw = folder / f"{end}.pcap"
        packets = captures.read(raw)
        variants = {name: (packets, None), f"late-{name}": (captures.late(packets, draw.tag), None),
                    f"snapped-{name}": (packets, snap)}
        for kind in (it for it in KINDS if it in case.kinds and it in variants):
            kept, cut = variants[kind]
            if not kept:
                print(f"    {kind}: no packets")
                continue
            captures.write(out / f"{stem}-{kind}.pcap", raw, kept, cut)
            written.append((kind, captures.goodput(kept)))
    return written


def produce(case: Case, part: str, seed: int, out: Path, logs: bool) -> int:
    """One case with one seed: its captures and their labels."""
    stem = f"{case.name}-{seed}"
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        without = None
        draw = Draw(part, case.name, seed)
        report = provoke(case, draw, folder)
        written = derive(case, draw, folder, out, stem)
        if logs:
            (out / f"{stem}.log").write_bytes((folder / "programs.log").read_bytes())
        if case.removable:
            provoke(case, Draw(part, case.name, seed, without=True), folder)
            without = captures.goodput(captures.read(folder / "right.pcap"))
    with (out / LABELS).open("a") as labels:
        for kind, goodput in written:
            label = {
                "file": f"{stem}-{kind}.pcap", "case": case.name, "seed": seed, "part": part, "kind": kind,
                "expected": list(case.label(kind)), "control": case.control, "reason": case.reason,
                "truth": {"goodput_bits_per_s": goodput, "without_bits_per_s": without}, "path": report,
            }
            labels.write(json.dumps(label) + "\n")
    return len(written)


def present(out: Path) -> set[tuple[str, int]]:
    """Cases and seeds that have their labels."""
    file = out / LABELS
    lines = file.read_text().splitlines() if file.exists() else []
    return {(it["case"], it["seed"]) for it in map(json.loads, lines)}


def chosen(only: list[str]) -> list[Case]:
    """The cases with these names; a word with `*` at its end stands for all that begin so."""
    def fits(case: Case) -> bool:
        return any(case.name.startswith(it[:-1]) if it.endswith("*") else case.name == it for it in only)
    return [it for it in CASES if not only or fits(it)]


def main() -> int:
    parser = argparse.ArgumentParser(description="Provoke slow links and capture them at both ends.")
    parser.add_argument("--part", choices=["development", "frozen"], default="development")
    parser.add_argument("--out", type=Path)
    parser.add_argument("--only", nargs="+", default=[], metavar="NAME")
    parser.add_argument("--seeds", type=int, default=1, help="runs of each case")
    parser.add_argument("--logs", action="store_true", help="keep what the programs at the ends print")
    parser.add_argument("--list", action="store_true", help="print the cases and their labels")
    arguments = parser.parse_args()
    cases = chosen(arguments.only)
    if arguments.list:
        for case in cases:
            print(f"{case.name:<32} {' | '.join(case.expected) or 'control':<44} {case.reason}")
        return 0
    if not arguments.out:
        parser.error("--out DIR")
    arguments.out.mkdir(parents=True, exist_ok=True)
    # Ends like an interruption by the keyboard: the namespaces are removed.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    failed = []
    done = present(arguments.out)
    # A seed of all cases first: an early end leaves a set with every case.
    for seed in range(1, arguments.seeds + 1):
        for case in cases:
            if (case.name, seed) in done:
                continue
            began = time.monotonic()
            try:
                count = produce(case, arguments.part, seed, arguments.out, arguments.logs)
                print(f"{case.name}-{seed}: {count} captures, {time.monotonic() - began:.0f} s", flush=True)
            except (Failed, RuntimeError) as error:
                failed.append(f"{case.name}-{seed}: {error}")
                print(f"{failed[-1]}", flush=True)
    for line in failed:
        print(f"failed: {line}", file=sys.stderr)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())

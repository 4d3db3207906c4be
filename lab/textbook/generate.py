#!/usr/bin/env python3
"""Draws, provokes, checks, records and labels captures (as root)."""

import hashlib
import json
import os
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
COMMON = Path(os.environ.get("LAB_COMMON", HERE.parent / "common"))
sys.path[:0] = [str(HERE), str(COMMON)]
import cases_ends, cases_path, cases_sound  # noqa: F401, E401 (they register their cases)
import links
from network import BUILT, perform
from setups import SEED
from trials import Trials

try:
    import cases_board  # noqa: F401
except ImportError:
    pass

FORMATS = ("pcap", "pcap", "pcapng", "nsecpcap")


class Set(Trials):
    def record(self, name, number, out):
        labels, result, log = super().record(name, number, out)
        for label in labels or []:
            if links.other(out / label["file"], f"{self.seed} {label['file']}", label):
                label["sha256"] = hashlib.sha256((out / label["file"]).read_bytes()).hexdigest()
        return labels, result, log


def build():
    """The path and the programs at the ends; boards have a script of their own."""
    BUILT.mkdir(exist_ok=True)
    subprocess.run(["gdc", "-O2", "-o", BUILT / "path", *(HERE / "path" / f"{it}.d" for it in ("path", "way", "frames"))], check=True)
    subprocess.run(["javac", "-d", BUILT / "classes", HERE / "ends" / "Ends.java"], check=True)


if __name__ == "__main__":
    Set(SEED, perform, "nf-", FORMATS, lasts_s=(2.6, 13), aim_s=5).main(build)

#!/usr/bin/env python3
"""Draws, provokes, checks, records and labels, within the emulated machine (`machine/boot` runs it there)."""

import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "common")]
import cases_ends, cases_healthy, cases_path  # noqa: F401, E401 (they register their cases)
from network import Network
from perform import FORMATS, performer
from setups import SEED
from trials import Trials

PROGRAMS = HERE.parent / "field" / "ends.py"
run = performer(Network, PROGRAMS)


def perform(trial, folder, seed, lane):
    return run(trial, folder, seed, lane)


if __name__ == "__main__":
    Trials(SEED, perform, "emulated-", FORMATS, (1.6, 8), 2.6).main(lambda: None)

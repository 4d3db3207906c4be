#!/usr/bin/env python3
"""Draws, provokes, checks, records and labels, within the emulated machine (`boot` runs it there)."""

import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
LAB = HERE.parent
sys.path[:0] = [str(it) for it in (HERE, LAB / "devices", LAB / "emulated", LAB / "common")]
import cases_board, cases_sound, cases_wire  # noqa: F401, E401 (they register their cases)
from boards import SEED
from draw import CASES
from hops import Hops
from perform import FORMATS, performer
from runs import once, with_facts
from trials import Trials

PROGRAMS = LAB / "field" / "ends.py"
run = performer(Hops, PROGRAMS)


def perform(trial, folder, seed, lane):
    return with_facts(run(trial, folder, seed, lane), trial, folder)


for it in CASES.values():
    it["make"] = once(it["make"])

if __name__ == "__main__":
    Trials(SEED, perform, "rtos-", FORMATS, (1, 9), 2.4).main(lambda: None)

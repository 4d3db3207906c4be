#!/usr/bin/env python3
"""Draws, provokes, checks, records and labels, within the emulated machine (`boot` runs it there)."""

import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
LAB = HERE.parent
sys.path[:0] = [str(it) for it in (HERE, LAB / "devices", LAB / "emulated", LAB / "common")]
import cases_ends, cases_path, cases_sound  # noqa: F401, E401 (they register their cases)
from draw import CASES
from paths import Mixed
from perform import FORMATS, performer
from programs import SEED
from runs import once, with_facts
from trials import Trials

PROGRAMS = LAB / "field" / "ends.py"
run = performer(Mixed, PROGRAMS)


def perform(trial, folder, seed, lane):
    trial = {"device": "", **trial}
    return with_facts(run(trial, folder, seed, lane), trial, folder)


for it in CASES.values():
    it["make"] = once(it["make"])

if __name__ == "__main__":
    Trials(SEED, perform, "mixed-", FORMATS, (1, 9), 2.3).main(lambda: None)

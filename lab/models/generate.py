#!/usr/bin/env python3
"""Draws, provokes, checks, records and labels the part within the emulated machine (`boot` runs it there)."""

import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
LAB = HERE.parent
sys.path[:0] = [str(it) for it in (HERE, LAB / "mixed", LAB / "devices", LAB / "emulated", LAB / "common")]
sys.path.insert(0, str(HERE))
import cases_ends, cases_path, cases_six, cases_sound  # noqa: F401, E401 (they register their cases)
from draw import CASES
from perform import FORMATS, performer
from programs import SEED
from runs import PROGRAMS, once, with_facts
from sixes import Sixes
from trials import Trials

RUN = performer(Sixes, PROGRAMS)


def perform(trial, folder, seed, lane):
    trial = {"device": "", **trial}
    truth = RUN(trial, folder, seed, lane)
    return truth if trial.get("ipv6") else with_facts(truth, trial, folder)


if __name__ == "__main__":
    for it in CASES.values():
        it["make"] = once(it["make"])
    Trials(SEED, perform, "models-", FORMATS, (1, 9), 2.3).main(lambda: None)

#!/usr/bin/env python3
"""Draws, provokes, checks, records and labels the part within the emulated machine (`boot` runs it there)."""

import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
LAB = HERE.parent
sys.path[:0] = [str(it) for it in (HERE, LAB / "mixed", LAB / "devices", LAB / "emulated", LAB / "common")]
sys.path.insert(0, str(HERE))
import cases_ends, cases_path, cases_six, cases_sound  # noqa: F401, E401 (they register their cases)
from programs import SEED
from runs import start
from sixes import Sixes

if __name__ == "__main__":
    start(SEED, "models-", 2.3, Sixes, device="")

#!/usr/bin/env python3
"""Draws, provokes, checks, records and labels, within the emulated machine (`boot` runs it there)."""

import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
LAB = HERE.parent
sys.path[:0] = [str(it) for it in (HERE, LAB / "devices", LAB / "emulated", LAB / "common")]
import cases_ends, cases_path, cases_sound  # noqa: F401, E401 (they register their cases)
from paths import Mixed
from programs import SEED
from runs import start

if __name__ == "__main__":
    start(SEED, "mixed-", 2.3, Mixed, device="")

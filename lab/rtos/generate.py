#!/usr/bin/env python3
"""Draws, provokes, checks, records and labels, within the emulated machine (`boot` runs it there)."""

import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
LAB = HERE.parent
sys.path[:0] = [str(it) for it in (HERE, LAB / "devices", LAB / "emulated", LAB / "common")]
import cases_board, cases_sound, cases_wire  # noqa: F401, E401 (they register their cases)
from boards import SEED
from runs import start

if __name__ == "__main__":
    start(SEED, "rtos-", 2.4)

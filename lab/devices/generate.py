#!/usr/bin/env python3
"""Draws, provokes, checks, records and labels, within the emulated machine (`boot` runs it there)."""

import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
LAB = HERE.parent
sys.path[:0] = [str(it) for it in (HERE, LAB / "emulated", LAB / "common")]
import cases_device, cases_healthy, cases_lines  # noqa: F401, E401 (they register their cases)
from runs import start
from stacks import SEED

if __name__ == "__main__":
    start(SEED, "devices-", 2.4)

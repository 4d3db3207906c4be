#!/usr/bin/env python3
"""The set: draws, runs, checks, cuts and labels its trials (see README.md)."""

import os
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), os.environ.get("LAB_COMMON", str(HERE.parent / "common"))]

import cases_ends  # noqa: E402, F401
import cases_path  # noqa: E402, F401
import cases_sound  # noqa: E402, F401
from network import build, perform  # noqa: E402
from trials import Trials  # noqa: E402

SEED = "branches, 2026-11-30"

if __name__ == "__main__":
    Trials(SEED, perform, "branches-", ("pcap", "nsecpcap", "pcapng"), lasts_s=(2.2, 13), aim_s=4.5).main(build)

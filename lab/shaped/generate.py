"""Records the captures of lab/shaped, in the machine that `machine/boot` starts: see README.md."""

import os
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, os.environ.get("LAB_COMMON", str(HERE.parent / "common")))

import cases_board  # noqa: E402, F401
import cases_ends  # noqa: E402, F401
import cases_path  # noqa: E402, F401
import cases_sound  # noqa: E402, F401
import network  # noqa: E402
from trials import Trials  # noqa: E402


def build():
    """machine/boot has built all."""


TRIALS = Trials("shaped 19", network.perform, "shaped-", ("pcap", "pcap", "pcapng", "nsecpcap"), unsized=("without_size",))

if __name__ == "__main__":
    TRIALS.main(build)

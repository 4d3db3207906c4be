"""Records the captures of lab/virtual: see README.md."""

import os
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, os.environ.get("LAB_COMMON", str(HERE.parent / "common")))

import cases_board  # noqa: E402, F401
import cases_ends  # noqa: E402, F401
import cases_path  # noqa: E402, F401
import cases_quiet  # noqa: E402, F401
import cases_sound  # noqa: E402, F401
import setups  # noqa: E402
from trials import Trials  # noqa: E402


def build():
    """board/build has built all."""


TRIALS = Trials("virtual 20", setups.perform, "virtual-", ("pcap", "pcap", "pcapng", "nsecpcap"), lasts_s=(1.7, 20), aim_s=3.4, unsized=("is_compared",))

if __name__ == "__main__":
    TRIALS.main(build)
